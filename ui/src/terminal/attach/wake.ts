/** Tells when a page may have slept through the end of its connections. */

/** Away for this long, a connection that looks alive is not believed. */
const SUSPECT_AFTER_MS = 45_000;

/** Calls `wake(suspect)` when the page comes back, until the returned function is called. */
export function listenForWake(wake: (suspect: boolean) => void): () => void {
  let hiddenAt: number | null = null;

  function onVisibility(): void {
    if (document.visibilityState === 'hidden') {
      hiddenAt = Date.now();
      return;
    }
    wake(hiddenAt !== null && Date.now() - hiddenAt > SUSPECT_AFTER_MS);
    hiddenAt = null;
  }
  function onPageShow(event: PageTransitionEvent): void {
    wake(event.persisted);
  }
  function onOnline(): void {
    wake(true);
  }

  document.addEventListener('visibilitychange', onVisibility);
  window.addEventListener('pageshow', onPageShow);
  window.addEventListener('online', onOnline);
  return () => {
    document.removeEventListener('visibilitychange', onVisibility);
    window.removeEventListener('pageshow', onPageShow);
    window.removeEventListener('online', onOnline);
  };
}

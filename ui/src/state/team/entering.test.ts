import { beforeEach, describe, expect, it, vi } from 'vitest';

const page = vi.hoisted(() => {
  const none = (): void => undefined;
  const memory = (): Storage => {
    const kept = new Map<string, string>();
    return {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    } as unknown as Storage;
  };
  const asked: string[] = [];
  const closed: string[] = [];
  const state = { refuses: false, badge: 0, reloads: 0, drawnAtReload: '' };
  const heard = new Map<string, (event: { key: string }) => void>();
  const window = {
    addEventListener: (kind: string, on: (event: { key: string }) => void) => heard.set(kind, on),
    matchMedia: () => ({ matches: false, addEventListener: none }),
    setInterval: none,
    setTimeout: none,
    clearTimeout: none,
    isSecureContext: true,
  };
  const subscription = { options: { applicationServerKey: null }, unsubscribe: none };
  const made = { toJSON: () => ({ endpoint: 'https://push.example/1', keys: {} }) };
  const worker = {
    getNotifications: () => Promise.resolve([{ close: () => closed.push('box') }]),
    pushManager: {
      getSubscription: () => Promise.resolve(subscription),
      subscribe: () => Promise.resolve(made),
    },
  };
  vi.stubGlobal('window', window);
  vi.stubGlobal('localStorage', memory());
  vi.stubGlobal('sessionStorage', memory());
  vi.stubGlobal('document', {
    title: '(1) box · Atoll',
    baseURI: 'http://localhost/',
    documentElement: { dataset: {} },
    querySelector: () => null,
  });
  vi.stubGlobal('location', {
    hash: '#/sandboxes/sb_a',
    origin: 'http://localhost',
    assign: (hash: string) => (location.hash = hash),
    reload: () => (state.reloads += 1),
  });
  vi.stubGlobal('navigator', {
    serviceWorker: {
      getRegistration: () => Promise.resolve(worker),
      ready: Promise.resolve(worker),
    },
    clearAppBadge: () => {
      state.badge = 0;
      return Promise.resolve();
    },
  });
  vi.stubGlobal('fetch', (url: URL | string, init?: RequestInit) => {
    const path = new URL(url, 'http://localhost/').pathname;
    asked.push(`${init?.method ?? 'GET'} ${path}`);
    const refused = state.refuses && path === '/v1/me/organization';
    const body = refused
      ? { title: 'gone', status: 404, code: 'not_found', detail: 'No such organization.' }
      : { public_key: 'AA', subscription_id: 'push_2', organization_id: 'org_b', name: 'Beta' };
    return Promise.resolve(Response.json(body, { status: refused ? 404 : 200 }));
  });
  return { asked, closed, state, heard };
});

import { showBadge } from '../attention/badge';
import { joining } from './joining';
import { login } from '../login';
import { notices } from '../announce';
import { acceptInvitation, followOtherTabs, leave, welcome, workIn } from './entering';

const PUSH = '/v1/push-subscriptions';

beforeEach(() => {
  page.asked.length = page.closed.length = 0;
  Object.assign(page.state, { refuses: false, reloads: 0, badge: 3 });
  document.title = '(1) box · Atoll';
  location.hash = '#/sandboxes/sb_a';
  localStorage.setItem('atoll.push', 'push_1');
  notices.set([]);
  login.set({ is: 'in', name: 'Ann' });
});

describe('another organization', () => {
  it('begins with nothing of the one before', async () => {
    showBadge(3);
    await workIn('org_b', 'You work in Beta now.');
    // Pushes of the former one end while the session is still there.
    expect(page.asked).toEqual([`DELETE ${PUSH}/push_1`, 'PUT /v1/me/organization']);
    expect(page.closed).toEqual(['box']);
    expect([document.title, location.hash, page.state.badge]).toEqual(['Atoll', '#/', 0]);
    // The frame is gone, with its streams and terminals, before the page is loaded again.
    expect([login.get().is, page.state.reloads]).toEqual(['checking', 1]);
    // The page that comes subscribes anew.
    expect(localStorage.getItem('atoll.push')).toBe('push_1');
  });

  it('is told of once, on the page that comes', async () => {
    await workIn('org_b', 'You work in Beta now.');
    expect(notices.get()).toEqual([]);
    welcome();
    welcome();
    expect(notices.get().map(({ text }) => text)).toEqual(['You work in Beta now.']);
  });

  it('that refuses leaves everything as it was', async () => {
    page.state.refuses = true;
    await expect(workIn('org_b', 'You work in Beta now.')).rejects.toThrow('No such organization.');
    expect([login.get().is, page.state.reloads, location.hash]).toEqual([
      'in',
      0,
      '#/sandboxes/sb_a',
    ]);
    expect(page.asked.at(-1)).toBe(`POST ${PUSH}`);
    expect(localStorage.getItem('atoll.push')).toBe('push_2');
  });

  it('is entered the same way by an invitation, and after leaving', async () => {
    joining.set('secret');
    await acceptInvitation('secret');
    expect(page.asked[0]).toBe('POST /v1/invitations/accept');
    expect([joining.get(), page.state.reloads]).toEqual([null, 1]);
    await leave('org_b', 'Beta');
    expect(page.asked.at(-1)).toBe('POST /v1/organizations/org_b/leave');
    expect(page.state.reloads).toBe(2);
  });

  it('takes the other tabs along, but a guest’s', async () => {
    followOtherTabs();
    const other = page.heard.get('storage');
    other?.({ key: 'atoll.theme' });
    login.set({ is: 'over' });
    other?.({ key: 'atoll.moved' });
    expect(page.state.reloads).toBe(0);
    login.set({ is: 'in', name: 'Ann' });
    other?.({ key: 'atoll.moved' });
    await vi.waitFor(() => expect(page.state.reloads).toBe(1));
    expect(login.get().is).toBe('checking');
  });
});

import type { Message } from './messages.js';

export function printed(messages: readonly Message[]): string;
export function translations(text: string): Map<string, string>;
export function ids(text: string): string[];
export function compiled(words: string): string | Record<string, string>;
export function placesOf(words: string): Set<string>;
export function accented(words: string): string;

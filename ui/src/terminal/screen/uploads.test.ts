import { expect, test } from 'vitest';
import { plainName, uploadRefusal } from './uploads';

test.each([
  ['shot 1.png', 'shot_1.png'],
  ['../../.ssh/id_rsa', 'ssh_id_rsa'],
  ['$(reboot);`x`.txt', 'reboot_x_.txt'],
  ['\u202egnp.exe', 'gnp.exe'],
  ['\u001b[2J', '2J'],
  ['….', 'file'],
  ['-rf', 'rf'],
])('%j is uploaded as %s', (name, plain) => {
  expect(plainName(name)).toBe(plain);
});

test('a long name keeps its ending', () => {
  expect(plainName(`${'x'.repeat(300)}.png`)).toMatch(/^x{76}\.png$/);
});

test('too many and too large are refused before anything is sent', () => {
  expect(uploadRefusal([{ size: 5 }])).toBeNull();
  expect(uploadRefusal(Array(21).fill({ size: 1 }))).toContain('20');
  expect(uploadRefusal([{ size: 200 * 1024 * 1024 }])).toContain('atoll cp');
});

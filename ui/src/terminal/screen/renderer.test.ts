import { describe, expect, it } from 'vitest';
import { look } from './renderer';

function canvas(renderer: string | null) {
  const context = {
    getExtension: (name: string) =>
      name === 'WEBGL_debug_renderer_info'
        ? { UNMASKED_RENDERER_WEBGL: 0x9246 }
        : { loseContext: () => undefined },
    getParameter: () => renderer,
  };
  return {
    getContext: () => (renderer === null ? null : context),
  } as unknown as HTMLCanvasElement;
}

describe('the renderer', () => {
  it.each([
    ['ANGLE (NVIDIA, NVIDIA GeForce RTX 3060, OpenGL 4.5)', true],
    ['Apple GPU', true],
    ['', true],
    ['ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero)), SwiftShader driver)', false],
    ['llvmpipe (LLVM 15.0.6, 256 bits)', false],
    ['Microsoft Basic Render Driver', false],
  ])('%s: hardware is %s', (name, expected) => {
    expect(look(canvas(name))).toBe(expected);
  });

  it('is none where the browser refuses a slow one', () => {
    expect(look(canvas(null))).toBe(false);
  });
});

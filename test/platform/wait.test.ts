import { describe, expect, it } from 'vitest';
import { onDemand } from '../../src/platform/wait.ts';

describe('what is loaded on demand', () => {
  it('is loaded once by whoever comes first, and is there at once for those who come later', async () => {
    let loads = 0;
    const module = { name: 'loaded' };
    const load = onDemand(() => {
      loads += 1;
      return Promise.resolve(module);
    });
    expect(loads).toBe(0);
    const [first, second] = [load(), load()];
    expect(first).toBeInstanceOf(Promise);
    expect(await first).toBe(module);
    expect(await second).toBe(module);
    expect(load()).toBe(module);
    expect(loads).toBe(1);
  });

  it('is tried again by whoever asks after it could not be loaded', async () => {
    let loads = 0;
    const load = onDemand(() => {
      loads += 1;
      return loads === 1 ? Promise.reject(new Error('the file is gone')) : Promise.resolve('there');
    });
    const [first, second] = [load(), load()];
    await expect(first).rejects.toThrow('the file is gone');
    await expect(second).rejects.toThrow('the file is gone');
    expect(await load()).toBe('there');
    expect(loads).toBe(2);
  });
});

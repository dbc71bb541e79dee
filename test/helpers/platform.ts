import type { Test } from 'tap'

/** Why a test of what a user may not do is skipped here. Its file is in test/refused.txt, which CI runs as another user. */
export const asRoot: false | string = process.getuid?.() === 0 && 'root is refused nothing'

/** Until the test ends, `process.platform` is another; what Node itself has decided by it stays. */
export function pretends(t: Test, platform: NodeJS.Platform): void {
  const own = Object.getOwnPropertyDescriptor(process, 'platform') as PropertyDescriptor
  Object.defineProperty(process, 'platform', { ...own, value: platform })
  t.teardown(() => Object.defineProperty(process, 'platform', own))
}

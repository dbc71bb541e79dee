import type { Test } from 'tap'

/** Until the test ends, `process.platform` is another; what Node itself has decided by it stays. */
export function pretends(t: Test, platform: NodeJS.Platform): void {
  const own = Object.getOwnPropertyDescriptor(process, 'platform') as PropertyDescriptor
  Object.defineProperty(process, 'platform', { ...own, value: platform })
  t.teardown(() => Object.defineProperty(process, 'platform', own))
}

import type { Test } from 'tap'

/** For a test whose tool is not on this machine. In CI it fails: .ci/run installs what tests need. */
export function skipped(t: Test, tool: string): void {
  if (process.env.CI === 'true') t.fail(`there is no ${tool}`)
  else t.pass(`there is no ${tool}`, { skip: true })
}

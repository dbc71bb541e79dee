import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type t from 'tap'
import { type LoadedPlan, loadPlan } from '../../src/runtime/load.js'

/** What becomes of a configuration, with its problems, as `validate` tells it. */
export async function tryPlan(test: Pick<typeof t, 'teardown'>, yaml: string): Promise<LoadedPlan> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-plan-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, yaml)
  return loadPlan({ file, env: {} })
}

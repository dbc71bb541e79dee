import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../../src/core/package-root.js'
import type { Source } from './source-rules.js'

/** What docs/faults.md is made with. */
interface FaultsScript {
  faultIds(): Record<string, unknown>
  faultTitles(files?: readonly Source[]): unknown[]
  faultProblems(ids: Record<string, unknown>, titles: unknown[]): string[]
}

/** Listed fault ids without a test and ids of tests that are not listed, as `scripts/docs.mjs` finds them. */
export async function faultTestProblems(ids?: readonly string[], files?: readonly Source[]): Promise<string[]> {
  const path = join(packageRoot(), 'scripts', 'faults.mjs')
  const { faultIds, faultTitles, faultProblems } = (await import(pathToFileURL(path).href)) as FaultsScript
  const listed = ids === undefined ? faultIds() : Object.fromEntries(ids.map(id => [id, {}]))
  return faultProblems(listed, faultTitles(files))
}

/** What `scripts/test-faults.mjs` says to these words, and its exit status, where they name no fault. */
export function unknownFaults(words: readonly string[]): { readonly status: number | null; readonly text: string } {
  const script = join(packageRoot(), 'scripts', 'test-faults.mjs')
  const { status, stderr } = spawnSync(process.execPath, [script, ...words], { encoding: 'utf8' })
  return { status, text: stderr }
}

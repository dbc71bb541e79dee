import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Secret } from '../../src/core/secret.js'
import { type LoadedPlan, loadPlan } from '../../src/runtime/load.js'

/** What this configuration becomes. Keys that would be made on first start are made of their names. */
export async function loadText(yaml: string, env: Readonly<Record<string, string>> = {}): Promise<LoadedPlan> {
  const folder = mkdtempSync(join(tmpdir(), 'routes-'))
  try {
    const file = join(folder, 'gateway.yaml')
    writeFileSync(file, yaml)
    return await loadFile(file, env)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export function loadFile(file: string, env: Readonly<Record<string, string>> = {}): Promise<LoadedPlan> {
  return loadPlan({ file, env, generated: name => new Secret(`key-of-${name}`) })
}

/** The plan, where there has to be one. */
export function planOf(loaded: LoadedPlan): NonNullable<LoadedPlan['plan']> {
  if (loaded.plan !== undefined) return loaded.plan
  throw new Error(loaded.problems.map(({ path, message }) => `${path}: ${message}`).join('\n'))
}

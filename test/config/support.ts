import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import type { Test } from 'tap'
import { type Loaded, type LoadOptions, load } from '../../src/config/load.js'
import { formatProblems } from '../../src/config/problems.js'
import { packageRoot } from '../../src/core/package-root.js'

/** A small stand-in for the shipped routes, kinds and schemas. */
export const SHIPPED = join(packageRoot(), 'test/fixtures/shipped')

export type Files = Readonly<Record<string, string | Uint8Array>>

/** Writes files into a new folder, which is removed when the test ends. */
export function folderWith(t: Test, files: Files): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gateway-config-')))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
  return folder
}

export interface Trial extends Loaded {
  readonly folder: string
  /** The problems as people read them, without the folder. */
  readonly text: string
  /** `rule line:column` of each problem. */
  readonly reported: readonly string[]
}

/** Loads `gateway.yaml` of a new folder, or a text that stands for it. */
export async function tryLoad(t: Test, files: Files | string, options: Partial<LoadOptions> = {}): Promise<Trial> {
  const folder = folderWith(t, typeof files === 'string' ? { 'gateway.yaml': files } : files)
  const loaded = await load({ file: join(folder, 'gateway.yaml'), env: {}, shipped: SHIPPED, ...options })
  return {
    ...loaded,
    folder,
    text: textOf(loaded, folder),
    reported: loaded.problems.map(({ rule, position }) => `${rule} ${position.line}:${position.column}`),
  }
}

export function textOf(loaded: Loaded, folder: string): string {
  const text = formatProblems(loaded.problems, { color: false })
  const places = [
    [folder, ''],
    [SHIPPED, 'shipped/'],
    [relative(process.cwd(), SHIPPED), 'shipped/'],
  ] as const
  return places.reduce((all, [place, shown]) => all.replaceAll(`${place}/`, shown), text)
}

/** A complete configuration to build on: one key, one upstream, one model. */
export const BASE = `version: 1
keys:
  me: { secret: { env: GATEWAY_KEY, generate: true } }
upstreams:
  sim: { kind: simulator }
models:
  sim-text: sim
`

/** Problems but for upstreams that no model of a trial uses. */
export function faults({ problems }: Pick<Loaded, 'problems'>): Loaded['problems'] {
  return problems.filter(({ rule }) => rule !== 'unused-upstream')
}

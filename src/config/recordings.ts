import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { DEFAULTS } from '../core/defaults.generated.js'
import type { RecordConfig, RecordingsConfig, RecordOverride } from '../core/recording.js'
import { type Context, interpolate } from './context.js'
import { type Document, Site } from './document.js'
import { sectionOf } from './entries.js'
import type { Layer } from './kinds.js'
import type { RawRecord, RawUpstream } from './raw.generated.js'
import { quoted } from './report.js'
import { suggest } from './suggest.js'

/** `base` of upstreams whose recorded answers are played. */
export const RECORDED_BASE = 'embedded:recordings'

/** What is recorded. `override` is what the command line says; its path is absolute. */
export function readRecord(
  main: Document,
  override: RecordOverride | undefined,
  context: Context,
): { readonly record?: RecordConfig } {
  const site = new Site(main, ['record'])
  const written = sectionOf(main, 'record')
  if (written === undefined && override === undefined) return {}
  const raw = written === undefined ? undefined : interpolate<RawRecord>(written, site, context)
  const filters: Partial<RecordOverride> = override ?? raw ?? {}
  return {
    record: {
      into: override?.into ?? resolve(main.source.folder, raw?.into ?? ''),
      ...(filters.models === undefined ? {} : { models: filters.models }),
      ...(filters.keys === undefined ? {} : { keys: filters.keys }),
      ...(filters.routes === undefined ? {} : { routes: filters.routes }),
      mask: raw?.mask ?? DEFAULTS.record.mask,
      words: raw?.words ?? [],
      members: raw?.members ?? [],
    },
  }
}

/** Warns of names in `record.routes`, or in `override`, that no route has. `names`: by their protocols, and by themselves where they have none. */
export function warnOfUnrecorded(
  main: Document,
  override: RecordOverride | undefined,
  names: readonly string[],
  { report }: Context,
): void {
  for (const name of override?.routes ?? []) {
    if (names.includes(name)) continue
    const message = `--route: no route has the protocol ${quoted(name)}, so nothing of it is recorded`
    report.warn('unknown-route', new Site(main, []), message, { meant: () => suggest(name, names) })
  }
  if (override !== undefined) return
  const section = sectionOf(main, 'record') as Partial<RawRecord> | undefined
  if (!Array.isArray(section?.routes)) return
  for (const [index, name] of section.routes.entries()) {
    if (typeof name !== 'string' || name.includes('$') || names.includes(name)) continue
    const message = `no route has the protocol ${quoted(name)}, so nothing of it is recorded`
    const site = new Site(main, ['record']).child('routes', index)
    report.warn('unknown-route', site, message, { meant: () => suggest(name, names) })
  }
}

/** The recordings that answer in place of an upstream. */
export function readRecordings(
  raw: RawUpstream,
  layers: readonly Layer[],
  context: Context,
): RecordingsConfig | undefined {
  const site = layers.at(-1)?.site
  if (site === undefined) return undefined
  if (raw.recordings === undefined) {
    if (layers.some(({ value }) => value.base === RECORDED_BASE)) {
      const message = 'recordings is missing here: the folder whose recordings it plays'
      context.report.error('missing-key', site, message, { on: 'key' })
    }
    return undefined
  }
  const at = site.child('recordings')
  const written = interpolate(raw.recordings, at, context)
  const { from, match, timing } = typeof written === 'string' ? { from: written } : written
  const path = resolve(site.document.source.folder, from)
  if (!existsSync(path)) {
    const spot = typeof written === 'string' ? at : at.child('from')
    context.report.error('bad-value', spot, `there is no folder or file ${quoted(from)}`)
  }
  return { from: path, match: match ?? 'strict', timing: timing ?? DEFAULTS.recordingsSettings.timing }
}

/** An upstream whose answers are played needs no way to the real one: no credential, address, or look at its health. */
export function withoutWay(layer: Layer): Layer {
  const { secret: _, secrets: _2, previous_secrets: _3, credential: _4, health: _5, base: _6, ...rest } = layer.value
  return { ...layer, value: rest }
}

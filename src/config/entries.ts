import { isObject, type Json } from '../core/json.js'
import { pathText } from '../core/path-text.js'
import { type Document, Site } from './document.js'
import { shownFile } from './problems.js'
import type { RawGateway, RawRoutesFile } from './raw.generated.js'
import { quoted, type Report } from './report.js'

/** One named thing of a configuration, with the place where it is written. */
export interface Entry<T> {
  readonly name: string
  readonly site: Site
  /** Absent where it does not fit the schema: then only the name is known. */
  readonly value: T | undefined
  /** What is written there, whether it fits or not. */
  readonly written: Json
}

export type Entries<T> = ReadonlyMap<string, Entry<T>>

type SectionName =
  | 'keys'
  | 'groups'
  | 'prices'
  | 'kinds'
  | 'upstreams'
  | 'models'
  | 'default_models'
  | 'protocols'
  | 'resource_kinds'
  | 'task_kinds'
  | 'routes'
  | 'schemas'
type EntryOf<S extends SectionName> = NonNullable<RawRoutesFile[S]>[string]

/** All entries of a section over several documents, in their order. A name that is in two of them is a problem. */
export function gather<S extends SectionName>(
  documents: readonly Document[],
  section: S,
  report: Report,
): Entries<EntryOf<S>> {
  const entries = new Map<string, Entry<EntryOf<S>>>()
  for (const document of documents) {
    const content = document.tree.value
    const members = isObject(content) ? content[section] : undefined
    if (!isObject(members)) continue
    for (const [name, value] of Object.entries(members)) {
      const site = new Site(document, [section, name])
      const first = entries.get(name)
      if (first === undefined) {
        const { misfits } = document
        const fits = misfits.size === 0 || !(misfits.has(section) || misfits.has(pathText(site.path)))
        // The schema has accepted the value, so it has the form that the raw types say.
        entries.set(name, { name, site, value: fits ? (value as unknown as EntryOf<S>) : undefined, written: value })
      } else {
        report.error(
          'duplicate-key',
          site,
          `${quoted(name)} is defined twice; the first is at ${placeOf(first.site)}`,
          { on: 'key' },
        )
      }
    }
  }
  return entries
}

/** `file:line:column` of an entry's name. */
export function placeOf(site: Site): string {
  const { file, line, column } = site.document.spot(site.path, 'key').position
  return `${shownFile(file)}:${line}:${column}`
}

/** A section of the main file that is one thing, not a map of entries; `undefined` where it is absent or does not fit. */
export function sectionOf<S extends keyof RawGateway>(document: Document, section: S): RawGateway[S] | undefined {
  const content = document.tree.value
  if (!isObject(content) || document.misfits.has(section)) return undefined
  return (content as unknown as RawGateway)[section]
}

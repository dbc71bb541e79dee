import type { ObjectConfig } from '../core/config.js'
import type { Context } from './context.js'
import type { Entries } from './entries.js'
import type { RawObject } from './raw.generated.js'
import { quoted } from './report.js'
import { suggest } from './suggest.js'

/** Objects of a page where the kind does not say, and at most. The schema tells the same to editors. */
const PAGE = { usual: 20, most: 100 } as const

export function objectConfig(raw: RawObject | undefined): ObjectConfig {
  const { title, id = 'id', prefix, wrapped, expires, brings, links } = raw ?? {}
  const { pages = 'ids', member = 'data', usual = PAGE.usual, most = PAGE.most, filter = [] } = raw?.list ?? {}
  return {
    ...(title === undefined ? {} : { title }),
    id,
    ...(prefix === undefined ? {} : { prefix }),
    ...(wrapped === undefined ? {} : { wrapped }),
    ...(expires === undefined ? {} : { expires }),
    ...(brings === undefined ? {} : { brings: lists(brings) }),
    ...(links === undefined ? {} : { links }),
    list: { pages, member, usual, most, filter },
  }
}

/** What an object brings with it has to be declared too. */
export function checkObjects(objects: Entries<RawObject>, { report }: Context): void {
  for (const { value, site } of objects.values()) {
    for (const name of Object.keys(value?.brings ?? {})) {
      if (objects.has(name)) continue
      report.error('dangling-reference', site.child('brings', name), `no object is called ${quoted(name)}`, {
        on: 'key',
        meant: () => suggest(name, objects.keys()),
        of: 'objects',
      })
    }
  }
}

/** Paths by name, each as a list. */
export function lists(written: Readonly<Record<string, string | readonly string[]>>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(written).map(([name, paths]) => [name, [paths].flat()]))
}

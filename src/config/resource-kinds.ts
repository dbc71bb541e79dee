import type { ResourceKindConfig } from '../core/config.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { Entries } from './entries.js'
import type { RawResourceKind } from './raw.generated.js'
import { quoted } from './report.js'
import { suggest } from './suggest.js'

/** Objects of a page if the kind does not say, and at most. The schema has the same for editors. */
const PAGE = { size: 20, max: 100 } as const

export function resourceKindConfig(raw: RawResourceKind | undefined): ResourceKindConfig {
  const { title, id = 'id', prefix, wrapped, expires, produces, links } = raw ?? {}
  const { pages = 'ids', member = 'data', filter = [] } = raw?.list ?? {}
  const { page_size: pageSize = PAGE.size, max_page_size: maxPageSize = PAGE.max } = raw?.list ?? {}
  return {
    ...(title === undefined ? {} : { title }),
    id,
    ...(prefix === undefined ? {} : { prefix }),
    ...(wrapped === undefined ? {} : { wrapped }),
    ...(expires === undefined ? {} : { expires }),
    ...(produces === undefined ? {} : { produces: lists(produces) }),
    ...(links === undefined ? {} : { links }),
    list: { pages, member, pageSize, maxPageSize, filter },
  }
}

/** Kinds that a kind produces have to be declared too. */
export function checkResourceKinds(kinds: Entries<RawResourceKind>, context: Context): void {
  for (const { value, site } of kinds.values()) {
    for (const name of Object.keys(value?.produces ?? {})) {
      checkResourceKind(name, site.child('produces', name), kinds, context, 'key')
    }
  }
}

/** A kind that is named has to be declared. */
export function checkResourceKind(
  name: string,
  site: Site,
  kinds: Entries<RawResourceKind>,
  { report }: Context,
  on: 'key' | 'value' = 'value',
): void {
  if (kinds.has(name)) return
  report.error('dangling-reference', site, `no kind of resources is called ${quoted(name)}`, {
    on,
    meant: () => suggest(name, kinds.keys()),
    of: 'resource_kinds',
  })
}

/** Paths by name, each as a list. */
export function lists(written: Readonly<Record<string, string | readonly string[]>>): Record<string, string[]> {
  return Object.fromEntries(Object.entries(written).map(([name, paths]) => [name, [paths].flat()]))
}

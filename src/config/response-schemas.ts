import { DEFAULTS } from '../core/defaults.generated.js'
import type { JsonObject } from '../core/json.js'
import type { ResponseCheck } from '../core/response-check.js'
import { type Context, interpolate } from './context.js'
import { type Document, Site } from './document.js'
import { sectionOf } from './entries.js'
import { quoted } from './report.js'
import type { NamedSchema } from './request-schemas.js'
import { readShare } from './settings.js'
import { suggest } from './suggest.js'

interface ReadChecks {
  readonly checks: Readonly<Record<string, ResponseCheck>>
  /** The schemas that they name or have. */
  readonly schemas: readonly NamedSchema[]
}

/** What answers of routes must be like. `isAlways`: each is checked, whatever the file says of their share. */
export function readResponseSchemas(
  main: Document,
  routes: ReadonlyMap<string, unknown>,
  isAlways: boolean,
  context: Context,
): ReadChecks {
  const checks: Record<string, ResponseCheck> = Object.create(null)
  const schemas: NamedSchema[] = []
  const whole = new Site(main, ['response_schemas'])
  for (const [route, written] of Object.entries(sectionOf(main, 'response_schemas') ?? {})) {
    const site = whole.child(route)
    checkRoute(route, routes, site, context)
    const { schema } = written
    const named = typeof schema === 'string'
    const name = named ? schema : `${route} response`
    schemas.push({ name, site: site.child('schema'), value: named ? undefined : (schema as JsonObject) })
    const place = site.child('check')
    const check = written.check === undefined ? undefined : interpolate(written.check, place, context)
    const share = check === undefined ? DEFAULTS.responseSchema.check : readShare(check, place, context)
    checks[route] = { schema: name, share: isAlways ? 1 : share }
  }
  return { checks, schemas }
}

function checkRoute(name: string, routes: ReadonlyMap<string, unknown>, site: Site, { report }: Context): void {
  if (name.startsWith('WS ')) {
    report.error('conflict', site, 'a WebSocket has no answer that a schema could fit', { on: 'key' })
  } else if (!routes.has(name)) {
    const message = `no route is called ${quoted(name)}`
    report.error('dangling-reference', site, message, { on: 'key', meant: () => suggest(name, routes.keys()) })
  }
}

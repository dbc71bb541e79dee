import type { CallConfig, EndpointConfig, VerbConfig } from '../core/config.js'
import { isObject, type Json } from '../core/json.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { Layer } from './kinds.js'
import type { RawEndpoint } from './raw.generated.js'
import { readTask } from './tasks.js'
import { parseCallTarget } from './templates.js'
import { readVerbs } from './verbs.js'

/** How an upstream serves a protocol, and where that is written. */
export interface ReadEndpoint {
  readonly config: EndpointConfig
  readonly site: Site
  /** Parameters of its calls that do not come from the body. */
  readonly params: readonly string[]
}

/** What an upstream speaks, layer over layer: an entry replaces the one below it, `off` takes it away. */
export function mergeSpeaks(layers: readonly Layer[], context: Context): Map<string, ReadEndpoint> {
  const endpoints = new Map<string, ReadEndpoint>()
  for (const { value, site } of layers) {
    for (const [protocol, raw] of Object.entries(value.speaks ?? {})) {
      const place = site.child('speaks', protocol)
      const endpoint = raw === 'off' ? undefined : readEndpoint(raw, place, context)
      if (endpoint !== undefined) endpoints.set(protocol, endpoint)
      else if (raw === 'off') endpoints.delete(protocol)
    }
  }
  return endpoints
}

function readEndpoint(raw: RawEndpoint, site: Site, context: Context): ReadEndpoint | undefined {
  const short = typeof raw === 'string'
  const call = readCall(short ? raw : raw.call, short ? site : site.child('call'), context)
  const stream = short || raw.stream === undefined ? undefined : readCall(raw.stream, site.child('stream'), context)
  if (call === undefined) return undefined
  const verbs = (direction: 'request' | 'response'): readonly VerbConfig[] =>
    short ? [] : readVerbs(raw[direction], site.child(direction), context)
  const config = {
    call: call.config,
    ...(stream === undefined ? {} : { stream: stream.config }),
    ...(short || raw.stateful !== false ? {} : { stateful: false as const }),
    request: verbs('request'),
    response: verbs('response'),
    ...(short || raw.forms === undefined ? {} : { forms: raw.forms }),
    ...(short || raw.sends === undefined ? {} : { sends: raw.sends }),
    ...(short || raw.answers === undefined ? {} : { answers: raw.answers }),
    ...(short || raw.task === undefined ? {} : { task: readTask(raw.task, site.child('task'), context) }),
  }
  const sent = new Set<Json>(config.request.flatMap(({ send }) => (isObject(send) ? Object.values(send) : [])))
  const params = [...call.params, ...(stream?.params ?? [])].filter(name => !sent.has(`path.${name}`))
  return { config, site, params }
}

/** `METHOD /path`; undefined where the report says what is wrong. */
export function readCall(
  text: string,
  site: Site,
  { report }: Context,
): { config: CallConfig; params: readonly string[] } | undefined {
  const space = text.indexOf(' ')
  // Remaining variables are not set: that is already reported, or irrelevant because the upstream is off.
  const target = text.slice(space + 1).replaceAll(/\$\{[^}]*\}/g, '')
  const parsed = parseCallTarget(target)
  if ('fault' in parsed) {
    report.error('bad-call', site, parsed.fault)
    return undefined
  }
  return { config: { method: text.slice(0, space), target }, params: parsed.params }
}

import { codecOf, partnersOf, readsForms } from '../codecs/index.js'
import type { PointerConfig, RouteConfig } from '../core/config.js'
import { DEFAULTS } from '../core/defaults.generated.js'
import type { ModelPointer, RouteFraming } from '../core/route-settings.js'
import { STATEFUL } from '../core/stateful.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { RawFraming, RawRouteMapping, RawRouteTask } from './raw.generated.js'
import { suggest } from './suggest.js'
import type { RoutePattern } from './templates.js'

/** What a route may say together: it is answered by the gateway, by a model's targets, or by one upstream. */
export function checkParts(raw: RawRouteMapping, site: Site, context: Context): void {
  const { report } = context
  if (raw.task !== undefined) {
    checkTaskParts(raw, raw.task, site, context)
    return
  }
  const isList = raw.resource?.action === 'list'
  if (raw.answer === undefined && !isList) {
    if (raw.protocol === undefined) {
      report.error(
        'missing-key',
        site,
        'this route needs protocol (an upstream answers) or answer (the gateway does)',
        { on: 'key' },
      )
    } else if (raw.model === undefined && raw.upstream === undefined && raw.resource === undefined) {
      const message =
        'it is not known which upstream answers: add model (the place of its name, such as body.model), or upstream'
      report.error('missing-key', site, message, { on: 'key' })
    } else if (raw.model !== undefined && raw.upstream !== undefined) {
      report.error(
        'conflict',
        site.child('upstream'),
        'the model decides which upstream answers; remove model or upstream',
        { on: 'key' },
      )
    }
    return
  }
  const by = raw.answer === undefined ? 'action: list' : 'answer'
  for (const name of ['protocol', 'upstream', 'schema', 'json', 'request', 'stream', 'framing', 'strict'] as const) {
    if (raw[name] !== undefined) {
      report.error('conflict', site.child(name), `a route with ${by} is answered by the gateway and has no ${name}`, {
        on: 'key',
      })
    }
  }
}

/** Tasks begin at an upstream, by a protocol; the gateway does everything else with them itself. */
function checkTaskParts(raw: RawRouteMapping, task: RawRouteTask, site: Site, { report }: Context): void {
  const begins = (task.action ?? 'submit') === 'submit'
  if (begins && raw.protocol === undefined) {
    const message = 'this route begins tasks and needs a protocol: add protocol'
    report.error('missing-key', site, message, { on: 'key' })
  }
  if (task.action === 'select' && task.of?.startsWith('body.') !== true) {
    report.error('missing-key', site.child('task'), 'it is not known which tasks are meant: add of: body.NAME')
  }
  if ((task.action === 'run') !== (task.route !== undefined)) {
    const message = 'run makes a request of another route: action: run and route belong together'
    report.error('missing-key', site.child('task'), message, { on: 'key' })
  }
  // A request may name a task that the new one is made of, or a model.
  const isOpen = task.of?.startsWith('body.') === true && raw.model !== undefined
  if (begins && !isOpen && (raw.model === undefined) === (task.of === undefined)) {
    const message = 'the upstream of a task follows from model or from task.of: write only one of them'
    report.error('missing-key', site, message, { on: 'key' })
  }
  const barred = begins ? NOT_WITH_TASKS : ([...NOT_WITH_TASKS, 'protocol', 'schema', 'request', 'model'] as const)
  for (const name of barred) {
    if (name === 'schema' && task.action === 'select') continue
    if (raw[name] === undefined) continue
    report.error(
      'conflict',
      site.child(name),
      `a route ${begins ? 'that begins tasks' : 'about tasks'} has no ${name}`,
      {
        on: 'key',
      },
    )
  }
}

const NOT_WITH_TASKS = ['answer', 'upstream', 'stream', 'framing', 'strict'] as const

/** Where the model's name is, as written or, on `answer: model`, the one parameter of the path. */
export function readModelPointer(
  raw: RawRouteMapping,
  pattern: RoutePattern,
  site: Site,
  { report }: Context,
): ModelPointer | undefined {
  if (raw.model !== undefined) {
    const short = typeof raw.model === 'string'
    const { from, values, default: byDefault } = typeof raw.model === 'string' ? { from: raw.model } : raw.model
    const pointer = parsePointer(from)
    if (pointer.from === 'path' && !pattern.params.includes(pointer.name)) {
      const message = `the path has no parameter {${pointer.name}}`
      const meant = (): string | undefined => suggest(pointer.name, pattern.params) ?? pattern.params[0]
      const place = short ? site.child('model') : site.child('model', 'from')
      report.error('unknown-parameter', place, message, { meant: () => prefixed('path.', meant()) })
    }
    return {
      ...pointer,
      ...(values === undefined ? {} : { values }),
      ...(byDefault === undefined ? {} : { byDefault }),
    }
  }
  if (raw.answer !== 'model') return undefined
  const only = pattern.params.length === 1 ? pattern.params[0] : undefined
  if (only !== undefined) return { from: 'path', name: only }
  report.error('missing-key', site, 'it is not known which model is meant: add model, such as path.id', { on: 'key' })
  return undefined
}

function prefixed(prefix: string, name: string | undefined): string | undefined {
  return name === undefined ? undefined : `${prefix}${name}`
}

/** `body.stream`, however it is written. */
function streamPlace({ stream }: RawRouteMapping): string {
  return String(typeof stream === 'object' ? stream.from : stream)
}

/** `body.model`, however it is written. */
function modelPlace({ model }: RawRouteMapping): string | undefined {
  return typeof model === 'object' ? model.from : model
}

/** `body.model` → body, model. The schema has checked the form. */
function parsePointer(text: string): PointerConfig {
  const dot = text.indexOf('.')
  const [from, name] = [text.slice(0, dot), text.slice(dot + 1)]
  if (from === 'header') return { from, name: name.toLowerCase() }
  return { from: from === 'form' || from === 'path' || from === 'query' ? from : 'body', name }
}

/** Whether the answer is a stream. */
export function readStream(raw: RawRouteMapping['stream']): RouteConfig['stream'] {
  if (typeof raw === 'string') return parsePointer(raw)
  if (typeof raw === 'object') {
    const { from, values, default: byDefault } = raw
    const said = { ...(values === undefined ? {} : { values }), ...(byDefault === undefined ? {} : { byDefault }) }
    return { ...parsePointer(from), ...said }
  }
  return raw === true ? 'always' : 'never'
}

/**
 * A WebSocket is passed through, or a client sends requests as messages and gets the events of their answers. One protocol
 * has that.
 */
export function checkSocket(raw: RawRouteMapping, { method }: RoutePattern, site: Site, { report }: Context): void {
  if (raw.tunnel === undefined) {
    if (method !== 'WS' || (raw.protocol === STATEFUL && raw.stream === true)) return
    const message = `a WebSocket is passed through (add tunnel: raw), or is { protocol: ${STATEFUL}, stream: true }`
    report.error('conflict', site, message, { on: 'key' })
    return
  }
  if (method !== 'WS') {
    const message = 'only WebSockets are passed through: write the route as WS /path'
    report.error('conflict', site.child('tunnel'), message, { on: 'key' })
  }
  for (const name of ['answer', 'stream', 'framing', 'schema', 'request', 'strict', 'body'] as const) {
    if (raw[name] === undefined) continue
    const message = `a tunnel passes everything through and has no ${name}`
    report.error('conflict', site.child(name), message, { on: 'key' })
  }
}

/** Changes of a request that is translated would come too late, in the terms of the upstream's protocol. */
export function checkChanges(raw: RawRouteMapping, site: Site, { report }: Context): void {
  const codec = codecOf(raw.protocol ?? '')
  // Where only declared models are asked by another protocol, the changes are for those that speak the route's own.
  if (raw.request === undefined || codec === undefined || partnersOf(codec).length === 0) return
  const message = 'requests of this protocol may be translated: declare changes on the upstream or the model'
  report.error('conflict', site.child('request'), message, { on: 'key' })
}

/** A route whose answers are never streams has none to cut. */
export function checkFraming(raw: RawRouteMapping, site: Site, { report }: Context): void {
  if (raw.framing === undefined || raw.answer !== undefined || (raw.stream ?? false) !== false) return
  report.error('conflict', site.child('framing'), 'framing applies to streams, and this route has none: add stream', {
    on: 'key',
  })
}

/** How the body is taken where the route does not say. What may have to be translated is read. */
export function defaultBody(raw: RawRouteMapping, method: string): RouteConfig['body'] {
  if (raw.tunnel !== undefined || method === 'GET' || method === 'HEAD' || method === 'DELETE') return 'none'
  if (raw.json !== undefined || [modelPlace(raw), streamPlace(raw)].some(pointer => pointer?.startsWith('form.'))) {
    return 'multipart'
  }
  const reads =
    modelPlace(raw)?.startsWith('body.') ||
    streamPlace(raw).startsWith('body.') ||
    raw.schema !== undefined ||
    raw.task?.of !== undefined ||
    raw.task?.action === 'run' ||
    raw.request !== undefined ||
    codecOf(raw.protocol ?? '') !== undefined
  return reads ? 'json' : 'raw'
}

/** Settings that read the body need a body that is read, in the expected format. */
export function checkBody(config: RouteConfig, site: Site, context: Context): void {
  checkForm(config, site, context)
  if (config.body === 'json' || config.body === 'multipart') return
  const { report } = context
  const why = config.body === 'none' ? 'this route has no body' : 'a raw body is not read'
  for (const name of ['model', 'stream'] as const) {
    const pointer = config[name]
    if (typeof pointer === 'object' && pointer.from === 'body') {
      report.error('conflict', site.child(name), `${name} is in the body, but ${why}: write body: json`)
    }
  }
  if (config.request !== undefined)
    report.error('conflict', site.child('request'), `request changes the body, but ${why}: write body: json`)
  if (config.schema !== undefined)
    report.error('conflict', site.child('schema'), `a schema reads the body, but ${why}: write body: json`)
}

/** A form has fields, and JSON has members; the latter is what most protocols that are translated take alone. */
function checkForm({ body, protocol, json, ...config }: RouteConfig, site: Site, { report }: Context): void {
  const isForm = body === 'multipart'
  for (const name of ['model', 'stream'] as const) {
    const pointer = config[name]
    if (typeof pointer !== 'object' || pointer.from !== (isForm ? 'body' : 'form')) continue
    const message = isForm
      ? `the body of this route is a form: write form.${pointer.name}`
      : `${name} is in a form, but the body of this route is not a form: write body: multipart`
    report.error('conflict', site.child(name), message)
  }
  if (json !== undefined && !isForm) {
    report.error('conflict', site.child('json'), 'json is the schema of JSON sent instead of a form: write schema', {
      on: 'key',
    })
  }
  const codec = codecOf(protocol ?? '')
  if (isForm && codec !== undefined && !readsForms(codec)) {
    report.error('conflict', site.child('protocol'), `requests of ${protocol} are JSON, not forms`)
  }
}

/** How the route's streams are cut into messages; events where it does not say. */
export function readFraming(raw: RawFraming | undefined): RouteFraming {
  if (raw === undefined || typeof raw === 'string')
    return { byDefault: raw ?? DEFAULTS.framingChoice.default, parameter: undefined, values: {} }
  return { byDefault: raw.default ?? DEFAULTS.framingChoice.default, parameter: raw.parameter, values: raw.values }
}

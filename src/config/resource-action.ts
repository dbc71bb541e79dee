import type { RouteConfig } from '../core/config.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { Entries } from './entries.js'
import type { RawResourceKind, RawRouteMapping } from './raw.generated.js'
import { checkResourceKind, lists } from './resource-kinds.js'
import type { RoutePattern } from './templates.js'

type ResourceSettings = Pick<
  RouteConfig,
  'resource' | 'references' | 'modelHints' | 'resumableUpload' | 'requiresAllModels' | 'batch' | 'results'
>

/** What a route says about resources that upstreams keep for callers. */
export function readResourceAction(raw: RawRouteMapping, pattern: RoutePattern): ResourceSettings {
  const parameter = parameterOf(raw, pattern)
  const { resource, resumable_upload: upload, batch, results } = raw
  return {
    ...(resource === undefined ? {} : { resource: { ...resource, ...(parameter === undefined ? {} : { parameter }) } }),
    references: lists(raw.references ?? {}),
    modelHints: (raw.model_hint ?? []).map(readHint),
    requiresAllModels: raw.requires_all_models ?? false,
    ...(upload === undefined
      ? {}
      : { resumableUpload: { header: upload.header.toLowerCase(), parameter: upload.parameter } }),
    ...(batch === undefined ? {} : { batch }),
    ...(results === undefined ? {} : { results }),
  }
}

/** The one parameter of the path that is not the model's. */
function parameterOf(raw: RawRouteMapping, { params }: RoutePattern): string | undefined {
  const others = params.filter(name => raw.model !== `path.${name}`)
  return others.length === 1 ? others[0] : undefined
}

/** `query.model`, `header.x-gateway-model`. The schema has checked the form. */
function readHint(text: string): RouteConfig['modelHints'][number] {
  const dot = text.indexOf('.')
  const name = text.slice(dot + 1)
  return text.startsWith('header.') ? { from: 'header', name: name.toLowerCase() } : { from: 'query', name }
}

export function checkResourceAction(
  raw: RawRouteMapping,
  pattern: RoutePattern,
  kinds: Entries<RawResourceKind>,
  site: Site,
  context: Context,
): void {
  const { report } = context
  const action = raw.resource?.action
  if (raw.resource !== undefined) {
    checkResourceKind(raw.resource.kind, site.child('resource', 'kind'), kinds, context)
    if (action !== 'create' && action !== 'list' && parameterOf(raw, pattern) === undefined) {
      const message = 'the path has to name the resource by one parameter, such as {id}'
      report.error('missing-key', site.child('resource'), message, { on: 'key' })
    }
  }
  // Shipped routes may name kinds of an interface that is switched off: then no such resources exist.
  for (const name of Object.keys(raw.references ?? {})) {
    if (!site.document.shipped) checkResourceKind(name, site.child('references', name), kinds, context, 'key')
  }
  for (const member of ['model_hint', 'resumable_upload', 'batch'] as const) {
    if (raw[member] !== undefined && action !== 'create') {
      const message = `${member} is only for routes that create a resource (resource: { kind, action: create })`
      report.error('conflict', site.child(member), message, { on: 'key' })
    }
  }
  if (raw.results !== undefined && action !== 'use') {
    const message = 'results is only for routes that use a resource (resource: { kind, action: use })'
    report.error('conflict', site.child('results'), message, { on: 'key' })
  }
  for (const member of ['model', 'model_hint'] as const) {
    if (raw.batch === undefined || raw[member] === undefined) continue
    const message = `the models of the requests in a batch decide which upstream keeps it; remove ${member}`
    report.error('conflict', site.child(member), message, { on: 'key' })
  }
}

import type { Traits } from '../../core/codec.js'
import type { VerbConfig } from '../../core/config.js'
import { jsonText } from '../../core/exact-json.js'
import { FEATURE_WORDS } from '../../core/feature-settings.generated.js'
import type { Json } from '../../core/json.js'
import { columns, section } from './format.js'
import { identityRows } from './identity-facts.js'
import { type GroupFacts, ruleRows } from './limit-facts.js'
import type { ModelFacts, TargetFacts } from './model-facts.js'
import type { KeyFacts, PlanFacts, RouteFacts } from './plan-facts.js'
import { regionRows } from './region-facts.js'
import type { UpstreamFacts } from './upstream-facts.js'

/** Lists of words in one line, the rest as JSON. */
function settingText(value: Json): string {
  const isWords = Array.isArray(value) && value.every(word => typeof word === 'string')
  return isWords ? value.join(' ') || 'nothing' : typeof value === 'string' ? value : jsonText(value)
}

/** The plan for people to read; the same facts give the same text. */
export function planText(facts: PlanFacts): string {
  const {
    listen,
    cors,
    store,
    log,
    transport,
    workers,
    receipts,
    reload,
    record,
    checks = [],
    telemetry = [],
    secrets = [],
    keys,
    identity = [],
    groups,
    regions,
    upstreams,
    models,
    routes,
  } = facts
  const lines = [
    ...columns([
      ['listen', listen],
      ...(cors === undefined ? [] : [['cors', cors.join(' ')]]),
      ['store', store],
      ['log', log],
      ...FEATURE_WORDS.flatMap(word => {
        const value = facts[word]
        return value === undefined ? [] : [[word, settingText(value)]]
      }),
      ...(transport === undefined ? [] : [['transport', transport]]),
      ...(workers === undefined ? [] : [['workers', String(workers)]]),
      ...(reload === undefined ? [] : [['reload', reload]]),
      ...(receipts === undefined ? [] : [['receipts', receipts]]),
      ...(record === undefined ? [] : [['record', record]]),
      ...checks.map((line, at) => [at === 0 ? 'checks' : '', line]),
      ...telemetry.map((line, at) => [at === 0 ? 'telemetry' : '', line]),
      ...secrets.map((line, at) => [at === 0 ? 'secrets' : '', line]),
    ]),
    ...section('keys', columns(keys.flatMap(keyRows), '  ')),
    ...(identity.length === 0 ? [] : section('identity', columns(identity.flatMap(identityRows), '  '))),
    ...(groups.length === 0 ? [] : section('groups', columns(groups.flatMap(groupRows), '  '))),
    ...(regions.length === 0 ? [] : section('regions', columns(regionRows(regions), '  '))),
    ...section('upstreams', columns(upstreams.flatMap(upstreamRows), '  ')),
    ...section('models', columns(models.flatMap(modelRows), '  ')),
    ...section('routes', routes.flatMap(routeLines)),
  ]
  return `${lines.join('\n')}\n`
}

function groupRows({ name, models, ...rules }: GroupFacts): readonly (readonly string[])[] {
  const [first = ['', '', 'no bounds'], ...others] = ruleRows(rules)
  const named = models === undefined ? [] : [['', '', `models ${models.join(' ')}`]]
  return [[name, ...first.slice(1)], ...others, ...named]
}

function keyRows(key: KeyFacts): readonly (readonly string[])[] {
  const { name, models, secrets, off, expires, strict, expose, generations, capture, trace, ...rules } = key
  const until = expires === undefined ? [] : [`expires ${expires}`]
  const state = off === undefined ? 'on' : 'off'
  const shown = expose === undefined ? [] : [`exposes ${expose.join(' ') || 'nothing'}`]
  const pins = generations === undefined ? [] : ['may pin generations']
  const more = [...until, ...(strict === true ? ['strict'] : []), ...shown, ...pins]
  const said = [...(off === undefined ? secrets : [off]), ...more].join(', ')
  const captured = [capture, trace].flatMap(fact => (fact === undefined ? [] : [['', '', fact]]))
  return [
    [name, state, models.join(' ') || 'no models', said],
    ...captured,
    ...ruleRows(rules).map(row => ['', ...row]),
  ]
}

function upstreamRows({
  name,
  kind,
  off,
  base,
  headers,
  speaks,
  traits,
  bounds,
  egress = [],
  region,
  recordings,
}: UpstreamFacts): readonly (readonly string[])[] {
  if (off !== undefined) return [[name, 'off', off]]
  return [
    [name, 'on', kind === undefined ? `${base}` : `${base} (kind ${kind})`],
    ...(region === undefined ? [] : [['', '', `region ${region}`]]),
    ...(recordings === undefined ? [] : [['', '', `plays ${recordings}`]]),
    ['', '', `speaks ${speaks.join(', ') || 'nothing'}`],
    ...traitRows(traits),
    ...ruleRows({ ...(bounds === undefined ? {} : { bounds }) }),
    ...headers.map(header => ['', '', header]),
    ...egress.map(line => ['', '', line]),
  ]
}

function modelRows({
  name,
  groups,
  strategy,
  fallbacks = [],
  canary,
  mirror,
  traits,
  strict,
  protocols,
  request,
  response,
  bounds,
}: ModelFacts): readonly (readonly string[])[] {
  const rows = groups.map(group => group.map(targetText).join(' | '))
  return [
    ...rows.map((row, index) => [index === 0 ? name : '', index === 0 ? '→' : 'then', row]),
    ...(strategy === undefined ? [] : [['', '', `strategy ${strategy}`]]),
    ...(canary === undefined ? [] : [['', '', `canary ${canary}`]]),
    ...fallbacks.map(line => ['', '', `if ${line}`]),
    ...(mirror === undefined ? [] : [['', '', `copies ${mirror}`]]),
    ...traitRows(traits),
    ...ruleRows({ ...(bounds === undefined ? {} : { bounds }) }),
    ...(strict === true ? [['', '', 'strict']] : []),
    ...(protocols === undefined ? [] : [['', '', `only for ${protocols.join(', ')}`]]),
    ...verbRows('request', request),
    ...verbRows('response', response),
    ...groups
      .flat()
      .flatMap(target => [
        ...traitRows(target.traits, ` at ${target.upstream}`),
        ...verbRows(`request to ${target.upstream}`, target.request),
        ...verbRows(`response of ${target.upstream}`, target.response),
      ]),
  ]
}

function targetText({ upstream, as, share, off, when }: TargetFacts): string {
  const named = as === undefined ? upstream : `${upstream} as ${as}`
  return `${named}${share === undefined ? '' : ` ${share} %`}${off === undefined ? '' : ` (off: ${off})`}${when === undefined ? '' : ` when ${when}`}`
}

function traitRows(traits: Traits, where = ''): readonly (readonly string[])[] {
  const said = Object.entries(traits).map(
    ([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`,
  )
  return said.length === 0 ? [] : [['', '', `traits${where}: ${said.join(', ')}`]]
}

function verbRows(what: string, verbs: readonly VerbConfig[]): readonly (readonly string[])[] {
  const steps = verbs.flatMap(verb => Object.entries(verb))
  return steps.map(([verb, args]) => ['', '', `${what}: ${verb} ${JSON.stringify(args)}`])
}

function routeLines(route: RouteFacts): readonly string[] {
  const {
    id,
    shipped,
    serves,
    task,
    prefixes = [],
    also,
    model,
    stream,
    framing,
    tunnel,
    strict,
    schema,
    json,
    response_schema,
    request,
    body,
    resource,
    references,
    errors,
    families,
    caller,
    calls,
  } = route
  const said = [
    serves,
    ...(task === undefined ? [] : [task]),
    ...(prefixes.length === 0 ? [] : [`also under ${prefixes.map(prefix => `/${prefix}`).join(', ')}`]),
    ...(also === undefined ? [] : [`also ${also}`]),
    ...(model === undefined ? [] : [`model ${model}`]),
    ...(stream === 'never' ? [] : [`stream ${stream}`]),
    ...(framing === undefined ? [] : [`framing ${framing}`]),
    ...(tunnel === undefined ? [] : [`tunnel ${tunnel}`]),
    ...(strict === true ? ['strict'] : []),
    ...(schema === undefined ? [] : [`schema ${schema}`]),
    ...(json === undefined ? [] : [`or JSON of ${json}`]),
    ...(response_schema === undefined ? [] : [`answers compared with ${response_schema}`]),
    ...(request === undefined ? [] : [`request changed by ${JSON.stringify(request)}`]),
    `body ${body}`,
    ...(resource === undefined ? [] : [resource]),
    ...(references === undefined ? [] : [`may name ${references.join(', ')}`]),
    `errors ${errors}${families === undefined ? '' : ` (${families.join(', ')})`}`,
    `key ${caller.join(' or ')}`,
  ]
  const rows = calls.flatMap(({ upstream, call, stream: other, translated, follow = [] }) => [
    [`→ ${upstream}`, call, ...(translated === undefined ? [] : [`translated to ${translated}`])],
    ...(other === undefined ? [] : [['', `${other} for streams`]]),
    ...follow.map(text => ['', text]),
  ])
  return [`  ${id}${shipped ? '' : ' (yours)'}`, `    ${said.join(', ')}`, ...columns(rows, '    ')]
}

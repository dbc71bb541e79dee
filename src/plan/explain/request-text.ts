import type { HealthRule } from '../../core/health.js'
import type { VectorForm } from '../../core/vectors.js'
import { WHY_DROPPED } from '../../wire/member-names.js'
import type { ExchangeFacts, RetryFacts, TranslationFacts } from './exchange-facts.js'
import { columns, duration, percent } from './format.js'
import type { RequestFacts } from './request-facts.js'

/** What would become of a request, for people to read. */
export function requestText(facts: RequestFacts): string {
  const {
    request,
    route,
    params = {},
    key,
    bounds = [],
    regions = [],
    left_out = [],
    model,
    stream,
    checks = [],
    vectors,
    answer,
    task,
    kept,
    held,
    strategy,
    canary,
    fallbacks = [],
    mirror,
    recorded,
    exchanges,
    error,
  } = facts
  const head = columns([
    ['request', request],
    ['route', route ?? 'none'],
    ...Object.entries(params).map(([name, value]) => [`  ${name}`, value]),
    ['key', key ?? (error?.code === 'unauthenticated' ? 'refused' : 'none given, assumed valid')],
    ...bounds.map((one, index) => [index === 0 ? 'bounds' : '', one]),
    ...regions.map((one, index) => [index === 0 ? 'regions' : '', one]),
    ...(model === undefined || model === '' ? [] : [['model', model]]),
    ...(stream === undefined ? [] : [['stream', stream ? 'yes' : 'no']]),
    ...left_out.map((one, index) => [index === 0 ? 'left out' : '', one]),
    ...checks.map((one, index) => [index === 0 ? 'checks' : '', one]),
    ...(vectors === undefined ? [] : [['vectors', VECTORS[vectors]]]),
  ])
  const lines = [
    ...head,
    ...outcome(answer, error),
    ...(task === undefined ? [] : ['', `task    ${task}`]),
    ...(kept === undefined ? [] : ['', `kept    ${kept}`]),
    ...(held === undefined ? [] : ['', `held    ${held}`]),
    ...(strategy === undefined ? [] : ['', `order   ${strategy}`]),
    ...(canary === undefined ? [] : ['', `canary  ${canary}`]),
    ...exchanges.flatMap(exchange => exchangeLines(exchange, stream === true)),
    ...fallbacks.map((line, index) => `${index === 0 ? '\n' : ''}if ${line}`),
    ...(mirror === undefined ? [] : ['', `copies  ${mirror}`]),
    ...(recorded === undefined ? [] : ['', `recorded  into ${recorded}`]),
  ]
  return `${lines.join('\n')}\n`
}

const VECTORS: Readonly<Record<VectorForm, string>> = {
  base64: 'base64; numbers from the upstream are encoded',
  float: 'numbers; base64 from the upstream is decoded',
}

function outcome(answer: RequestFacts['answer'], error: RequestFacts['error']): readonly string[] {
  if (error !== undefined) {
    const { status, code, family, reason, body, allow } = error
    const text = body === undefined ? '' : JSON.stringify(body)
    return [
      '',
      `answer  ${status} ${code}, in the shape of the family ${family}`,
      ...(text.includes(JSON.stringify(reason).slice(1, -1)) ? [] : [`        ${reason}`]),
      ...(allow === undefined ? [] : [`        allow: ${allow.join(', ')}`]),
      ...(text === '' ? [] : [`client  ${text}`]),
    ]
  }
  if (answer === undefined) return []
  const names = answer.length === 0 ? ['no model'] : answer
  return ['', "answer  200, the gateway's own", ...names.map(name => `        ${name}`)]
}

function exchangeLines(exchange: ExchangeFacts, stream: boolean): readonly string[] {
  const { group, share, upstream, model, method, url, translation, headers, body, retry, streamed, timeouts } = exchange
  const { dropped = [], formats = [], refused, bounds = [], charge, health, when, egress = [], secrets } = exchange
  const drawn = share === undefined ? '' : `, first in ${share} % of requests`
  const { queue, connect, first_byte, first_event, idle, total } = timeouts
  const waits = [
    `queue ${duration(queue)}`,
    `connect ${duration(connect)}`,
    stream ? `first event ${duration(first_event)}` : `first byte ${duration(first_byte)}`,
    `idle ${duration(idle)}`,
    `total ${duration(total)}`,
  ]
  if (translation?.estimated === true) {
    const rows = [
      ...translationRows(translation),
      ['call', 'none: no upstream counts tokens, so the gateway estimates'],
    ]
    return ['', `${group}  ${upstream}${drawn}`, ...columns(rows, '   ')]
  }
  return [
    '',
    `${group}  ${upstream}${model === '' ? '' : ` as ${model}`}${drawn}`,
    ...columns(
      [
        ...(when === undefined ? [] : [['when', when]]),
        ...(translation === undefined ? [] : translationRows(translation)),
        ['call', `${method} ${url}`],
        ...formats.map((one, index) => [index === 0 ? 'format' : '', one]),
        ...headers.map(header => ['header', header]),
        ...(secrets === undefined ? [] : [['secrets', secretsText(secrets)]]),
        ...egress.map((line, index) => [index === 0 ? 'leaves' : '', line]),
        ...dropped.map(name => ['lost', `${name}: ${WHY_DROPPED}`]),
        ...(refused === undefined ? [] : [['refused', `if it comes to this target: ${refused}`]]),
        ...bounds.map((one, index) => [index === 0 ? 'bounds' : '', one]),
        ...(charge === undefined ? [] : [['price', charge.price]]),
        ...(charge?.reserved === undefined ? [] : [['reserve', charge.reserved]]),
        ['wait', waits.join(', ')],
        ...(health === undefined ? [] : [['health', healthText(health)]]),
        ...speedRows(exchange),
        ...hedgeRows(exchange),
        ['retry', streamed ? 'sent once: the body is streamed' : retryText(retry)],
        ...(body ?? '').split('\n').map((line, index) => [index === 0 ? 'body' : '', line]),
      ].filter(([name, value]) => name !== 'body' || value !== ''),
      '   ',
    ),
  ]
}

function secretsText(secrets: number): string {
  return `${secrets}, in turn; after 401, 402, 403 or 429 the next one, and the refused one rests`
}

function healthText({ failures, rate, requests, window, slow, cooldown, max_cooldown }: HealthRule): string {
  const pause = `asked last for ${duration(cooldown)} to ${duration(max_cooldown)}`
  const share = `if ${percent(rate, 1)} % of ${requests} requests in ${duration(window)} fail`
  const late = slow === undefined ? '' : `; content after ${duration(slow)} is a failure`
  return `${pause} after ${failures} failures in a row, or ${share}${late}; at once if it asks for a wait`
}

function speedRows({ contract }: ExchangeFacts): readonly (readonly string[])[] {
  const { first_token, gap, min_rate, then } = contract ?? {}
  const rules = [
    ...(first_token === undefined ? [] : [`first content after ${duration(first_token)}`]),
    ...(gap === undefined ? [] : [`then every ${duration(gap)}`]),
    ...(min_rate === undefined ? [] : [`at least ${min_rate} pieces a second`]),
  ]
  const after = then === 'next' ? 'else the next target, or an error' : 'else an error'
  return [...(contract === undefined ? [] : [['stream', `${rules.join(', ')}; ${after}`]])]
}

function hedgeRows({ hedge }: ExchangeFacts): readonly (readonly string[])[] {
  if (hedge === undefined) return []
  const when = hedge.after === 'p95' ? 'the time in which 95 % of its latest answers began' : duration(hedge.after)
  return [['hedge', `without content after ${when}: the next target, too; the first to answer wins`]]
}

function retryText({ attempts, on, others, again, wait, max_wait, budget }: RetryFacts): string {
  if (attempts === 1) return 'no'
  const pause = `after up to ${duration(wait)}, doubling up to ${duration(max_wait)}, or as the upstream asks`
  const most = `at most ${attempts} attempts in total`
  const share = `, repeating ${percent(budget, 1)} % of requests`
  const repeats = again.length > 0 && attempts > others + 1
  if (others === 0)
    return repeats ? `after ${conditions(again)}: again, ${pause}; ${most}${share}` : 'no: no other target is left'
  const why =
    again.length === on.filter(condition => condition !== 'silent_stream').length ? '' : ` after ${conditions(again)}`
  const then = repeats ? `; then again${why}, ${pause}` : ''
  return `after ${conditions(on)}: the next target, at once${then}; ${most}${repeats ? share : ''}`
}

/** All hundred statuses of a class as `5xx`. */
function conditions(on: readonly (string | number)[]): string {
  const whole = [4, 5].filter(digit => on.filter(one => Math.floor(Number(one) / 100) === digit).length === 100)
  const others = on.filter(one => !whole.includes(Math.floor(Number(one) / 100)))
  return [...others, ...whole.map(digit => `${digit}xx`)].join(', ')
}

function translationRows({
  from,
  to,
  traits,
  strict,
  limits = [],
  lost = [],
  calls,
  fetched = [],
}: TranslationFacts): readonly (readonly string[])[] {
  const said = Object.entries(traits).map(
    ([name, value]) => `${name} ${typeof value === 'object' ? JSON.stringify(value) : value}`,
  )
  return [
    ['translate', `${from} → ${to}${strict ? ', strict: refused if anything cannot be carried' : ''}`],
    ...(said.length === 0 ? [] : [['traits', said.join(', ')]]),
    ...limits.map((one, index) => [index === 0 ? 'limits' : '', one]),
    ...lost.map(one => ['lost', one]),
    ...fetched.map(url => ['fetched', `${url}: its content is sent, not its URL`]),
    ...(calls === undefined ? [] : [['calls', `${calls} calls at once: the model creates one image per call`]]),
  ]
}

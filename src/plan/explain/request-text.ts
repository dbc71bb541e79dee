import type { VectorForm } from '../../core/vectors.js'
import { WHY_DROPPED } from '../../wire/member-names.js'
import type { ExchangeFacts, RetryFacts, TranslationFacts } from './exchange-facts.js'
import { columns, duration } from './format.js'
import type { RequestFacts } from './request-facts.js'

/** What would become of a request, for people to read. */
export function requestText(facts: RequestFacts): string {
  const {
    request,
    route,
    params = {},
    key,
    bounds = [],
    model,
    stream,
    vectors,
    answer,
    task,
    kept,
    held,
    exchanges,
    error,
  } = facts
  const head = columns([
    ['request', request],
    ['route', route ?? 'none'],
    ...Object.entries(params).map(([name, value]) => [`  ${name}`, value]),
    ['key', key ?? (error?.code === 'unauthenticated' ? 'refused' : 'none given, assumed valid')],
    ...bounds.map((one, index) => [index === 0 ? 'bounds' : '', one]),
    ...(model === undefined || model === '' ? [] : [['model', model]]),
    ...(stream === undefined ? [] : [['stream', stream ? 'yes' : 'no']]),
    ...(vectors === undefined ? [] : [['vectors', VECTORS[vectors]]]),
  ])
  const lines = [
    ...head,
    ...outcome(answer, error),
    ...(task === undefined ? [] : ['', `task    ${task}`]),
    ...(kept === undefined ? [] : ['', `kept    ${kept}`]),
    ...(held === undefined ? [] : ['', `held    ${held}`]),
    ...exchanges.flatMap(exchangeLines),
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
    const told = body === undefined ? '' : JSON.stringify(body)
    return [
      '',
      `answer  ${status} ${code}, in the shape of the family ${family}`,
      ...(told.includes(JSON.stringify(reason).slice(1, -1)) ? [] : [`        ${reason}`]),
      ...(allow === undefined ? [] : [`        allow: ${allow.join(', ')}`]),
      ...(told === '' ? [] : [`client  ${told}`]),
    ]
  }
  if (answer === undefined) return []
  const names = answer.length === 0 ? ['no model'] : answer
  return ['', "answer  200, the gateway's own", ...names.map(name => `        ${name}`)]
}

function exchangeLines(exchange: ExchangeFacts): readonly string[] {
  const { group, share, upstream, model, method, url, translation, headers, body, retry, streamed, timeouts } = exchange
  const { dropped = [], refused, bounds = [], charge } = exchange
  const drawn = share === undefined ? '' : `, first in ${share} % of requests`
  const { queue, connect, first_byte, idle, total } = timeouts
  const waits = [
    `queue ${duration(queue)}`,
    `connect ${duration(connect)}`,
    `first byte ${duration(first_byte)}`,
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
        ...(translation === undefined ? [] : translationRows(translation)),
        ['call', `${method} ${url}`],
        ...headers.map(header => ['header', header]),
        ...dropped.map(name => ['lost', `${name}: ${WHY_DROPPED}`]),
        ...(refused === undefined ? [] : [['refused', `if it comes to this target: ${refused}`]]),
        ...bounds.map((one, index) => [index === 0 ? 'bounds' : '', one]),
        ...(charge === undefined ? [] : [['price', charge.price]]),
        ...(charge?.reserved === undefined ? [] : [['reserve', charge.reserved]]),
        ['wait', waits.join(', ')],
        ['retry', streamed ? 'sent once: the body is streamed' : retryText(retry)],
        ...(body ?? '').split('\n').map((line, index) => [index === 0 ? 'body' : '', line]),
      ].filter(([name, value]) => name !== 'body' || value !== ''),
      '   ',
    ),
  ]
}

function retryText({ attempts, on, others, again }: RetryFacts): string {
  if (attempts === 1) return 'no'
  if (others > 0) {
    const last = again ? '; the last one once more after reset' : ''
    return `after ${conditions(on)}: the next target, at once; ${attempts} attempts in total${last}`
  }
  return again ? 'once more after reset, at once; no other target is left' : 'no: no other target is left'
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

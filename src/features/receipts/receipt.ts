import { hash } from 'node:crypto'
import { countMembers, durationMember, numberMember, quoted, textMember } from '../../core/json-line.js'
import type { CaptureConfig, ContentPlace } from '../../core/receipts.js'
import type { Body, HeldBody } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { CHARGED, type Used } from '../../kernel/charged.js'
import { copied } from '../../kernel/inner.js'
import { outcomeOf } from '../../kernel/outcome.js'
import { AttemptTimes, type AttemptView, type Outcome } from '../../kernel/stages.js'
import type { Journal } from '../../sinks/receipts/journal.js'
import type { Captured } from '../content/captured.js'
import { AnswerDigest } from './answer-digest.js'
import { parametersOf } from './parameters.js'

/** As the log has it. */
const CLIENT_GONE_STATUS = 499

/** An attempt that has ended. */
interface Ended {
  readonly number: number
  readonly cost: number | undefined
  /** JSON of its `AttemptReceipt`. */
  readonly text: string
}

/** A journal, and how many requests in flight have begun under a configuration that writes to it. */
export interface OpenJournal {
  readonly journal: Journal
  readonly to: string
  /** Milliseconds, as the latest configuration that writes to it says. */
  keep: number
  requests: number
}

/** What a receipt is made of while its request runs. Attempts may end after their call. */
export class OpenReceipt {
  readonly answer = new AnswerDigest()
  captured: Captured<CaptureConfig> | undefined
  /** Absent: its request was not admitted, and it is written where the configuration of now says. */
  journal: OpenJournal | undefined
  #body: HeldBody | undefined
  readonly #attempts: Ended[] = []
  #open = 0
  #settled: (() => void) | undefined

  arrived(body: Body): void {
    if (body.type === 'bytes') this.#body = body
  }

  began(attempt: AttemptView): void {
    this.#open++
    attempt.times ??= new AttemptTimes()
    if (attempt.times.asked === 0) attempt.times.asked = performance.now()
  }

  ended(attempt: AttemptView, outcome: Outcome): void {
    const text = attemptText(attempt, outcome)
    this.#attempts.push({ number: attempt.number, cost: attempt.get(CHARGED)?.cost, text })
    if (--this.#open === 0) this.#settled?.()
  }

  /** Calls back once the call has settled and all its attempts have ended. */
  settle(write: () => void): void {
    if (this.#open === 0) write()
    else this.#settled = write
  }

  /** JSON of the `RequestReceipt`, without its place. */
  text(call: Call, at: number, content: ContentPlace | undefined): string {
    const { generation, error, tally } = call
    return (
      `{"kind":"request","at":${at},"id":${quoted(call.id)}` +
      textMember('key', call.caller?.name) +
      textMember('group', call.caller?.policy?.group) +
      textMember('mirror_of', copied(call.request)?.of) +
      textMember('route', call.route?.id) +
      (call.model === '' ? '' : `,"model":${quoted(call.model)}`) +
      `,"stream":${call.stream}${askedIn(this.#body, tally.bytesIn)},"generation":${generation.number},"plan":"${generation.plan.digest}"` +
      `,"attempts":[${this.#attemptTexts()}]` +
      droppedMember(call) +
      (call.usage === undefined ? '' : `,"usage":{${countMembers(call.usage)}}`) +
      numberMember('cost', this.#cost()) +
      `,"status":${error?.code === 'client_gone' ? CLIENT_GONE_STATUS : call.status}` +
      `,"outcome":"${outcomeOf(error, call.status)}"` +
      textMember('error', error?.code) +
      `,"answer":{"bytes":${tally.bytesOut}${textMember('sha256', this.answer.digest())}` +
      (call.stream ? `,"events":${tally.events}}` : '}') +
      (tally.firstByte === undefined ? '' : durationMember('first_ms', tally.firstByte - call.started)) +
      durationMember('total_ms', call.ended - call.started) +
      (content === undefined ? '}' : `,"content":${JSON.stringify(content)}}`)
    )
  }

  /** In the order in which they began. */
  #attemptTexts(): string {
    const [first, second] = this.#attempts
    if (second === undefined) return first?.text ?? ''
    const inOrder = this.#attempts.toSorted((one, other) => one.number - other.number)
    return inOrder.map(({ text }) => text).join(',')
  }

  /** Undefined: nothing was charged. */
  #cost(): number | undefined {
    let sum: number | undefined
    for (const { cost } of this.#attempts) if (cost !== undefined) sum = (sum ?? 0) + cost
    return sum
  }
}

/** JSON members, each after a comma. `bytesIn`: what has arrived of a body that is not held. */
function askedIn(body: HeldBody | undefined, bytesIn: number): string {
  if (body === undefined) return bytesIn > 0 ? `,"body":{"bytes":${bytesIn}}` : ''
  const parameters = parametersOf(body)
  return (
    `,"body":{"bytes":${body.bytes.length},"sha256":"${hash('sha256', body.bytes)}"}` +
    (parameters === undefined ? '' : `,"parameters":${parameters}`)
  )
}

function droppedMember({ dropped, losses }: Call): string {
  const more = losses?.dropped ?? []
  return dropped.length + more.length === 0 ? '' : `,"dropped":${JSON.stringify([...dropped, ...more])}`
}

function attemptText(attempt: AttemptView, outcome: Outcome): string {
  const { call, exchange, number, times, ended } = attempt
  const { translation, tariff, upstream, model } = exchange
  const charged = attempt.get(CHARGED)
  const { phase, status, error, task } = outcome
  return (
    `{"number":${number},"upstream":${quoted(upstream.name)},"model":${quoted(model)},"phase":"${phase}"` +
    numberMember('status', status) +
    textMember('error', error?.code) +
    durationMember('from_ms', (times?.asked ?? ended) - call.started) +
    durationMember('to_ms', ended - call.started) +
    textMember('translated', translation?.client.protocol) +
    textMember('task', task) +
    (charged === undefined ? '}' : `${chargedMembers(charged, tariff?.price)}}`)
  )
}

/** JSON of prices, which are objects of the plan. */
const PRICES = new WeakMap<object, string>()

function chargedMembers({ units, cost, isEstimated }: Used, price: object | undefined): string {
  return (
    `,"units":{${countMembers(units)}},"cost":${cost}` +
    (price === undefined ? '' : `,"price":${priceText(price)}`) +
    (isEstimated ? ',"estimated":true' : '')
  )
}

function priceText(price: object): string {
  const known = PRICES.get(price)
  if (known !== undefined) return known
  const text = JSON.stringify(price)
  PRICES.set(price, text)
  return text
}

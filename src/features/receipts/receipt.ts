import { hash } from 'node:crypto'
import type { AttemptReceipt, CaptureConfig, ContentPlace, ReceiptDraft, RequestReceipt } from '../../core/receipts.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { CHARGED } from '../../kernel/charged.js'
import { copied } from '../../kernel/inner.js'
import { outcomeOf } from '../../kernel/outcome.js'
import { AttemptTimes, type AttemptView, type Outcome } from '../../kernel/stages.js'
import type { Captured } from '../content/captured.js'
import { AnswerDigest } from './answer-digest.js'
import { parametersOf } from './parameters.js'

/** As the log has it. */
const CLIENT_GONE_STATUS = 499

/** What a receipt is made of while its request runs. Attempts may end after their call. */
export class OpenReceipt {
  readonly answer = new AnswerDigest()
  captured: Captured<CaptureConfig> | undefined
  #body: RequestReceipt['body']
  #parameters: RequestReceipt['parameters']
  readonly #attempts: AttemptReceipt[] = []
  #open = 0
  #settled: (() => void) | undefined

  arrived(body: Body): void {
    if (body.type !== 'bytes') return
    this.#body = { bytes: body.bytes.length, sha256: hash('sha256', body.bytes) }
    this.#parameters = parametersOf(body.bytes)
  }

  began(attempt: AttemptView): void {
    this.#open++
    attempt.times ??= new AttemptTimes()
    if (attempt.times.asked === 0) attempt.times.asked = performance.now()
  }

  ended(attempt: AttemptView, outcome: Outcome): void {
    this.#attempts.push(attemptReceipt(attempt, outcome, performance.now()))
    if (--this.#open === 0) this.#settled?.()
  }

  /** Calls back once the call has settled and all its attempts have ended. */
  settle(write: () => void): void {
    if (this.#open === 0) write()
    else this.#settled = write
  }

  draft(call: Call, at: number, total: number, content: ContentPlace | undefined): ReceiptDraft<RequestReceipt> {
    const { generation, error } = call
    const group = call.caller?.policy?.group
    const copy = copied(call.request)
    const attempts = this.#attempts.toSorted((one, other) => one.number - other.number)
    const costs = attempts.flatMap(({ cost }) => cost ?? [])
    const dropped = [...call.dropped, ...(call.losses?.dropped ?? [])]
    const sha256 = this.answer.digest()
    return {
      kind: 'request',
      at,
      id: call.id,
      ...(call.caller !== undefined && { key: call.caller.name }),
      ...(group !== undefined && { group }),
      ...(copy !== undefined && { mirror_of: copy.of }),
      ...(call.route !== undefined && { route: call.route.id }),
      ...(call.model !== '' && { model: call.model }),
      stream: call.stream,
      ...this.#asked(call),
      generation: generation.number,
      plan: generation.plan.digest,
      attempts,
      ...(dropped.length > 0 && { dropped }),
      ...(call.usage !== undefined && { usage: call.usage }),
      ...(costs.length > 0 && { cost: costs.reduce((sum, cost) => sum + cost, 0) }),
      status: error?.code === 'client_gone' ? CLIENT_GONE_STATUS : call.status,
      outcome: outcomeOf(error, call.status),
      ...(error !== undefined && { error: error.code }),
      answer: {
        bytes: call.tally.bytesOut,
        ...(sha256 !== undefined && { sha256 }),
        ...(call.stream && { events: call.tally.events }),
      },
      ...(call.tally.firstByte !== undefined && { first_ms: rounded(call.tally.firstByte - call.started) }),
      total_ms: rounded(total),
      ...(content !== undefined && { content }),
    }
  }

  #asked({ tally: { bytesIn } }: Call): Pick<RequestReceipt, 'body' | 'parameters'> {
    if (this.#body === undefined) return bytesIn > 0 ? { body: { bytes: bytesIn } } : {}
    return { body: this.#body, ...(this.#parameters !== undefined && { parameters: this.#parameters }) }
  }
}

function attemptReceipt(attempt: AttemptView, outcome: Outcome, now: number): AttemptReceipt {
  const { call, exchange, number, times } = attempt
  const { translation, tariff, upstream, model } = exchange
  const charged = attempt.get(CHARGED)
  const { phase, status, error, task } = outcome
  return {
    number,
    upstream: upstream.name,
    model,
    phase,
    ...(status !== undefined && { status }),
    ...(error !== undefined && { error: error.code }),
    from_ms: rounded((times?.asked ?? now) - call.started),
    to_ms: rounded(now - call.started),
    ...(translation !== undefined && { translated: translation.client.protocol }),
    ...(task !== undefined && { task }),
    ...(charged !== undefined && { units: charged.units as Readonly<Record<string, number>>, cost: charged.cost }),
    ...(charged !== undefined && tariff?.price !== undefined && { price: tariff.price }),
    ...(charged?.isEstimated === true && { estimated: true as const }),
  }
}

/** To the hundredth of a millisecond. */
function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100
}

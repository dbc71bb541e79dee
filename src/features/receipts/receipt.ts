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

/** Members that are left out may be undefined. */
type Undefinable<T> = { readonly [Member in keyof T]: T[Member] | undefined }

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

  /** What is undefined is not in its JSON. */
  draft(
    call: Call,
    at: number,
    total: number,
    content: ContentPlace | undefined,
  ): Undefinable<ReceiptDraft<RequestReceipt>> {
    const { generation, error } = call
    const dropped = [...call.dropped, ...(call.losses?.dropped ?? [])]
    return {
      kind: 'request',
      at,
      id: call.id,
      key: call.caller?.name,
      group: call.caller?.policy?.group,
      mirror_of: copied(call.request)?.of,
      route: call.route?.id,
      model: call.model === '' ? undefined : call.model,
      stream: call.stream,
      body: this.#body ?? (call.tally.bytesIn > 0 ? { bytes: call.tally.bytesIn } : undefined),
      parameters: this.#parameters,
      generation: generation.number,
      plan: generation.plan.digest,
      attempts: this.#attempts.length > 1 ? this.#attempts.toSorted(byNumber) : this.#attempts,
      dropped: dropped.length > 0 ? dropped : undefined,
      usage: call.usage,
      cost: this.#cost(),
      status: error?.code === 'client_gone' ? CLIENT_GONE_STATUS : call.status,
      outcome: outcomeOf(error, call.status),
      error: error?.code,
      answer: {
        bytes: call.tally.bytesOut,
        sha256: this.answer.digest(),
        events: call.stream ? call.tally.events : undefined,
      } as RequestReceipt['answer'],
      first_ms: call.tally.firstByte === undefined ? undefined : rounded(call.tally.firstByte - call.started),
      total_ms: rounded(total),
      content,
    }
  }

  /** Undefined: nothing was charged. */
  #cost(): number | undefined {
    let sum: number | undefined
    for (const { cost } of this.#attempts) if (cost !== undefined) sum = (sum ?? 0) + cost
    return sum
  }
}

function attemptReceipt(attempt: AttemptView, outcome: Outcome, now: number): AttemptReceipt {
  const { call, exchange, number, times } = attempt
  const { translation, tariff, upstream, model } = exchange
  const charged = attempt.get(CHARGED)
  const { phase, status, error, task } = outcome
  const made: Undefinable<AttemptReceipt> = {
    number,
    upstream: upstream.name,
    model,
    phase,
    status,
    error: error?.code,
    from_ms: rounded((times?.asked ?? now) - call.started),
    to_ms: rounded(now - call.started),
    translated: translation?.client.protocol,
    task,
    units: charged?.units as Readonly<Record<string, number>> | undefined,
    cost: charged?.cost,
    price: charged === undefined ? undefined : tariff?.price,
    estimated: charged?.isEstimated === true ? true : undefined,
  }
  return made as AttemptReceipt
}

function byNumber(one: AttemptReceipt, other: AttemptReceipt): number {
  return one.number - other.number
}

/** To the hundredth of a millisecond. */
function rounded(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100
}

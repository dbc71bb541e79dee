import { Masker } from '../../core/masks.js'
import type { TraceContentConfig } from '../../core/telemetry.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { slot } from '../../kernel/slot.js'
import { Captured } from '../content/captured.js'
import type { Clock } from './clock.js'
import type { SpanEvent } from './span.js'
import { TracesStage } from './stage.js'

const CAPTURED = slot<Captured<TraceContentConfig>>('traces: content')
const ALL_MASKS = ['emails', 'cards', 'phones', 'addresses'] as const

/** Bytes of content that requests in flight hold. */
const held = { held: 0 }
const maskers = new WeakMap<TraceContentConfig, Masker>()

/** Also holds what requests say and get, of keys whose spans have it, until it is known whether their spans are sent. */
export class ContentTracesStage extends TracesStage {
  admit(call: Call): void {
    const config = call.caller?.trace
    if (config === undefined) return
    const captured = new Captured(config, config.size, held)
    call.set(CAPTURED, captured)
    call.taps.add(captured)
  }

  onBody(call: Call, body: Body): Body {
    if (body.type === 'bytes') call.get(CAPTURED)?.arrived(body.bytes)
    return body
  }

  override record(call: Call): void {
    super.record(call)
    call.get(CAPTURED)?.release()
  }

  protected override eventsOf(call: Call, clock: Clock, now: number): readonly SpanEvent[] {
    const captured = call.get(CAPTURED)
    if (captured === undefined) return []
    const { request, answer, cut } = captured.finish(maskerOf(captured.config))
    const events: SpanEvent[] = []
    if (request !== undefined)
      events.push(eventOf('gateway.request.content', clock.at(call.started), request, cut?.request))
    if (answer !== undefined) events.push(eventOf('gateway.answer.content', clock.at(now), answer, cut?.answer))
    return events
  }
}

function eventOf(name: string, time: number, content: string, cut = 0): SpanEvent {
  return {
    name,
    time,
    attributes: { 'gateway.content': content, 'gateway.content.cut_bytes': cut > 0 ? cut : undefined },
  }
}

/** Undefined: content is sent as it is. */
function maskerOf(config: TraceContentConfig): Masker | undefined {
  if (config.content === 'full') return undefined
  const masker = maskers.get(config) ?? new Masker([...ALL_MASKS, 'keys'], config.words)
  maskers.set(config, masker)
  return masker
}

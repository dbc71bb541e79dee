import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import type { Faults } from '../../faults/table.js'
import type { Json, JsonObject } from '../../json.js'
import { isObject, parseJson } from '../../json.js'
import type { Seed } from '../../seed.js'
import { SAMPLE_BYTES, SAMPLE_RATE } from '../../sound/wav.js'
import { type Item, readItem, soundOf, spokenItem, unknownItem, unknownType } from './items.js'
import { type RealtimeEvent, RealtimeResponse } from './response.js'
import { newSession, settingsOf, updated } from './session.js'
import { VoiceActivity } from './voice-activity.js'

/** Most items that are kept. */
const MAX_ITEMS = 1000
/** The least sound that can be committed, milliseconds. */
const MIN_COMMIT_MS = 100
const DEFAULT_SILENCE_MS = 500

type Handler = (event: Fields) => Iterable<RealtimeEvent>

/**
 * A spoken conversation, in the event names of the protocol's general release. It hears only how long and how loud sound is:
 * not what is said in it. The same events in the same order always get the same answers, ids included.
 */
export class RealtimeConversation {
  readonly #faults: Faults
  readonly #seed: Seed
  #session: JsonObject
  #items: Item[] = []
  #voiceActivity = new VoiceActivity()
  /** Bytes of sound that have not been committed. */
  #bufferedBytes = 0
  /** The item that the speech at hand will be. */
  #speech: string | undefined
  #response: RealtimeResponse | undefined
  #made = 0
  #events = 0

  constructor(model: string, faults: Faults, seed: Seed) {
    this.#faults = faults
    this.#seed = seed
    this.#session = newSession(model, seed)
  }

  /** The first events, before the client sends any. */
  opening(): Iterable<RealtimeEvent> {
    return [{ type: 'session.created', session: this.#session }]
  }

  /** The event as it is sent. */
  stamped(event: RealtimeEvent): string {
    const { type, ...rest } = event
    this.#events++
    return JSON.stringify({ type, event_id: `event_${this.#seed.fork('event', this.#events).letters(21)}`, ...rest })
  }

  /** The events that answer a message. Never throws: errors are events, too. */
  *receive(text: string): Generator<RealtimeEvent> {
    const message = parseJson(text)
    const id = isObject(message) && typeof message.event_id === 'string' ? message.event_id : null
    try {
      if (!isObject(message))
        throw new SimulatorError(400, 'The message has to be a JSON object.', { code: 'invalid_json' })
      const event = new Fields(message)
      const type = event.need('type', event.string)
      const handler = Object.hasOwn(this.#handlers, type) ? this.#handlers[type] : undefined
      if (handler === undefined) throw unknownType(type, Object.keys(this.#handlers))
      yield* handler(event)
    } catch (error) {
      yield failure(error instanceof SimulatorError ? error : compatible.usual(500), id)
    }
  }

  /** The event of a server that fails in the middle. */
  failure(): RealtimeEvent {
    return failure(compatible.usual(500), null)
  }

  readonly #handlers: Readonly<Record<string, Handler>> = {
    'session.update': event => this.update(event),
    'input_audio_buffer.append': event => this.append(event),
    'input_audio_buffer.commit': () => this.commitAsked(),
    'input_audio_buffer.clear': () => this.clear(),
    'output_audio_buffer.clear': () => [{ type: 'output_audio_buffer.cleared' }],
    'conversation.item.create': event => this.create(event),
    'conversation.item.retrieve': event => {
      const { object } = this.#items[this.indexOf(event)] as Item
      return [{ type: 'conversation.item.retrieved', item: object }]
    },
    'conversation.item.truncate': event => this.truncate(event),
    'conversation.item.delete': event => {
      const [item] = this.#items.splice(this.indexOf(event), 1)
      return [{ type: 'conversation.item.deleted', item_id: item?.id ?? '' }]
    },
    'response.create': event => this.respond(event.fields('response')),
    'response.cancel': () => this.cancel(),
  }

  private *update(event: Fields): Generator<RealtimeEvent> {
    this.#session = updated(this.#session, event.need('session', event.fields))
    yield { type: 'session.updated', session: this.#session }
  }

  private *append(event: Fields): Generator<RealtimeEvent> {
    const sound = soundOf(event.need('audio', event.string), 'audio')
    this.#bufferedBytes += sound.length
    const turns = this.turnDetection()
    if (turns === undefined) return
    const silence = typeof turns.silence_duration_ms === 'number' ? turns.silence_duration_ms : DEFAULT_SILENCE_MS
    for (const { what, at } of this.#voiceActivity.detect(sound, silence)) {
      if (what === 'start') {
        this.#speech = this.newId('item')
        if (turns.interrupt_response !== false) this.#response?.cancel('turn_detected')
        yield { type: 'input_audio_buffer.speech_started', audio_start_ms: at, item_id: this.#speech }
      } else {
        const id = this.#speech ?? this.newId('item')
        this.#speech = undefined
        yield { type: 'input_audio_buffer.speech_stopped', audio_end_ms: at, item_id: id }
        yield* this.commit(id)
        if (turns.create_response !== false) yield* this.respond(undefined)
      }
    }
  }

  private turnDetection(): JsonObject | undefined {
    const turns = memberOf(memberOf(memberOf(this.#session, 'audio'), 'input'), 'turn_detection')
    return isObject(turns) ? turns : undefined
  }

  private *commitAsked(): Generator<RealtimeEvent> {
    const milliseconds = (this.#bufferedBytes / SAMPLE_BYTES / SAMPLE_RATE) * 1000
    if (milliseconds < MIN_COMMIT_MS) {
      const message = `Error committing input audio buffer: buffer too small. Expected at least ${MIN_COMMIT_MS}ms of audio, but buffer only has ${milliseconds.toFixed(2)}ms of audio.`
      throw new SimulatorError(400, message, { code: 'input_audio_buffer_commit_empty', type: 'invalid_request_error' })
    }
    yield* this.commit(this.#speech ?? this.newId('item'))
    this.#speech = undefined
  }

  private *commit(id: string): Generator<RealtimeEvent> {
    const seconds = this.#bufferedBytes / SAMPLE_BYTES / SAMPLE_RATE
    const transcribes = isObject(memberOf(memberOf(memberOf(this.#session, 'audio'), 'input'), 'transcription'))
    const item = spokenItem(id, this.#bufferedBytes, null)
    this.#bufferedBytes = 0
    const before = this.add(item)
    yield { type: 'input_audio_buffer.committed', previous_item_id: before, item_id: id }
    yield { type: 'conversation.item.added', previous_item_id: before, item: item.object }
    yield { type: 'conversation.item.done', previous_item_id: before, item: item.object }
    if (!transcribes) return
    const transcript = `${seconds.toFixed(1)} seconds of sound.`
    const at = { item_id: id, content_index: 0 }
    yield { type: 'conversation.item.input_audio_transcription.delta', ...at, delta: transcript }
    yield {
      type: 'conversation.item.input_audio_transcription.completed',
      ...at,
      transcript,
      usage: { type: 'duration', seconds },
    }
  }

  private *clear(): Generator<RealtimeEvent> {
    this.#bufferedBytes = 0
    this.#voiceActivity = new VoiceActivity()
    this.#speech = undefined
    yield { type: 'input_audio_buffer.cleared' }
  }

  private *create(event: Fields): Generator<RealtimeEvent> {
    const fields = event.need('item', event.fields)
    const item = readItem(fields, fields.string('id') ?? this.newId('item'))
    const after = event.string('previous_item_id')
    if (after !== undefined && after !== 'root' && !this.#items.some(({ id }) => id === after)) {
      throw unknownItem(after, 'previous_item_id')
    }
    const before = this.add(item, after)
    yield { type: 'conversation.item.added', previous_item_id: before, item: item.object }
    yield { type: 'conversation.item.done', previous_item_id: before, item: item.object }
  }

  private *truncate(event: Fields): Generator<RealtimeEvent> {
    const item = this.#items[this.indexOf(event)]
    const at = { content_index: event.integer('content_index') ?? 0, audio_end_ms: event.integer('audio_end_ms') ?? 0 }
    yield { type: 'conversation.item.truncated', item_id: item?.id ?? '', ...at }
  }

  private *respond(own: Fields | undefined): Generator<RealtimeEvent> {
    if (this.#response !== undefined) {
      const message = 'Conversation already has an active response in progress.'
      throw new SimulatorError(400, message, { code: 'conversation_already_has_active_response' })
    }
    const { metadata, input, conversation: _, ...laid } = own?.object ?? {}
    const settings = settingsOf({ ...this.#session, ...laid })
    const items = input === undefined ? [...this.#items] : (own?.list('input') ?? []).map(item => this.readInput(item))
    const seed = this.#seed.fork('response', ++this.#made)
    const asked = { settings, items, metadata: isObject(metadata) ? metadata : null, faults: this.#faults, seed }
    const response = new RealtimeResponse(asked, item => this.add(item))
    this.#response = response
    try {
      yield* response.events()
    } finally {
      this.#response = undefined
    }
  }

  private readInput(item: Fields): Item {
    if (item.raw('type') !== 'item_reference') return readItem(item, this.newId('item'))
    return this.#items[this.indexOf(item, 'id')] as Item
  }

  private cancel(): readonly RealtimeEvent[] {
    if (this.#response === undefined) {
      throw new SimulatorError(400, 'Cancellation failed: no active response found', {
        code: 'response_cancel_not_active',
      })
    }
    this.#response.cancel('client_cancelled')
    return []
  }

  /** The place of the item that an event names. */
  private indexOf(event: Fields, member = 'item_id'): number {
    const id = event.need(member, event.string)
    const index = this.#items.findIndex(item => item.id === id)
    if (index < 0) throw unknownItem(id, member)
    return index
  }

  /** Takes an item in, at the end or behind another one; the id of the one before it. */
  private add(item: Item, after?: string): string | null {
    const at = after === undefined ? this.#items.length : this.#items.findIndex(({ id }) => id === after) + 1
    this.#items.splice(at, 0, item)
    if (this.#items.length > MAX_ITEMS) this.#items = this.#items.slice(-MAX_ITEMS)
    return this.#items[at - 1]?.id ?? null
  }

  private newId(kind: string): string {
    return `${kind}_${this.#seed.fork(kind, ++this.#made).letters(21)}`
  }
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

function failure({ status, message, details }: SimulatorError, cause: string | null): RealtimeEvent {
  const { param = null, code = null, type } = details
  const kind = type ?? (status < 500 ? 'invalid_request_error' : 'server_error')
  return { type: 'error', error: { type: kind, code, message, param, event_id: cause } }
}

import { jsonText } from '../../core/exact-json.js'
import { isObject } from '../../core/json.js'
import type { CallPart, Left, MediaPart, Part, ReasoningPart, ResultPart, TextPart, Turn } from '../../core/text.js'
import { MADE_UP } from '../made-ids.js'
import { sourceOfUrl } from '../media.js'
import { invalid, leaveOthers, type Reader } from '../read.js'

import { onlyText, readContent } from './content-in.js'
import { PROTOCOL, sealOfExtra, thoughtsOfMessage } from './reasoning.js'

const MESSAGE_MEMBERS = new Set([
  ...['role', 'content', 'name', 'refusal', 'audio', 'images', 'annotations', 'tool_calls', 'function_call'],
  ...['tool_call_id', 'reasoning', 'reasoning_content', 'reasoning_details', 'extra_content'],
])

/** `messages` as instructions and turns: results of tools become parts of one user turn. */
export function readMessages(body: Reader, left: Left[]): { system: readonly TextPart[]; turns: readonly Turn[] } {
  const messages = body.objects('messages')
  if (messages === undefined) throw invalid('messages', 'it is required')
  if (messages.length === 0) throw invalid('messages', 'expected at least one message')
  const history = new History(left)
  for (const message of messages) history.add(message)
  return history
}

class History {
  readonly system: TextPart[] = []
  readonly turns: Turn[] = []
  readonly #left: Left[]
  /** Calls by their id. */
  readonly #calls = new Map<string, CallPart>()
  /** Calls that wait for their result, oldest first, and the results of the turn at hand. */
  #waiting = new Set<CallPart>()
  #results: Part[] | undefined

  constructor(left: Left[]) {
    this.#left = left
  }

  add(message: Reader): void {
    leaveOthers(message, MESSAGE_MEMBERS, this.#left)
    const role = message.required('role')
    if (role !== 'tool' && role !== 'function') this.#results = undefined
    switch (role) {
      case 'tool':
      case 'function':
        this.addResult(message, role)
        break
      case 'system':
      case 'developer':
        this.addInstruction(message)
        break
      case 'user':
        this.addTurn(message, 'user', readContent(message, this.#left))
        break
      case 'assistant':
        this.addAssistant(message)
        break
      default:
        throw invalid(message.path('role'), `no message has the role '${role.slice(0, 60)}'`)
    }
  }

  private addTurn(message: Reader, role: Turn['role'], parts: readonly Part[]): void {
    const name = message.string('name')
    this.turns.push({ role, parts, at: message.at, ...(name !== undefined && { name }) })
  }

  private addInstruction(message: Reader): void {
    const parts = onlyText(readContent(message, this.#left))
    if (this.turns.length > 0) {
      this.addTurn(message, 'system', parts)
      return
    }
    if (message.has('name')) {
      this.#left.push({ field: message.path('name'), why: 'other protocols have no author of instructions' })
    }
    for (const part of parts) this.system.push(part)
  }

  private addAssistant(message: Reader): void {
    const parts = withSeal(message, [
      ...readReasoning(message),
      ...readContent(message, this.#left),
      ...readRefusal(message),
      ...this.readAudio(message),
      ...readImages(message),
    ])
    const calls = readCalls(message, this.turns.length)
    for (const call of calls) this.#calls.set(call.id, call)
    this.#waiting = new Set(calls)
    const said = calls.length > 0 ? parts.filter(part => part.type !== 'text' || part.text !== '' || part.seal) : parts
    this.addTurn(message, 'assistant', [...said, ...calls])
  }

  private readAudio(message: Reader): MediaPart[] {
    const id = message.object('audio')?.string('id')
    if (id === undefined) return []
    const source = {
      file: id,
      of: PROTOCOL,
      why: 'audio of an earlier answer is known only to its upstream',
    }
    return [{ type: 'media', kind: 'audio', source, at: message.path('audio') }]
  }

  private addResult(message: Reader, role: 'tool' | 'function'): void {
    const call = this.callOf(message, role)
    this.#waiting.delete(call)
    const parts = readContent(message, this.#left).map(part => {
      if (part.type === 'text' || part.type === 'media') return part
      throw invalid(part.at ?? message.at, 'the result of a tool is text')
    })
    const name = message.string('name')
    const result: ResultPart = {
      type: 'result',
      id: call.id,
      parts,
      at: message.at,
      ...(name !== undefined && { name }),
      ...(call.custom === true && { custom: true }),
    }
    if (this.#results !== undefined) this.#results.push(result)
    else {
      this.#results = [result]
      this.turns.push({ role: 'user', parts: this.#results, at: message.at })
    }
  }

  /** The call that a result answers: by its id; without one, the oldest that waits (and has the function's name). */
  private callOf(message: Reader, role: 'tool' | 'function'): CallPart {
    const id = role === 'tool' ? message.string('tool_call_id') : undefined
    if (id !== undefined && id !== '') {
      const call = this.#calls.get(id)
      if (call === undefined) throw invalid(message.path('tool_call_id'), 'no call before this message has that id')
      return call
    }
    const name = role === 'function' ? message.required('name') : undefined
    for (const call of this.#waiting) if (name === undefined || call.name === name) return call
    throw invalid(message.at, 'a result has to follow the call that it answers')
  }
}

function readReasoning(message: Reader): ReasoningPart[] {
  const member = message.has('reasoning_content') ? 'reasoning_content' : 'reasoning'
  const text = message.raw(member)
  const thoughts = thoughtsOfMessage(typeof text === 'string' ? text : '', message.array('reasoning_details') ?? [], {})
  return thoughts.map(part => ({
    ...part,
    at: message.path(part.seal === undefined && part.text !== '' ? member : 'reasoning_details'),
  }))
}

function readRefusal(message: Reader): Part[] {
  const text = message.string('refusal')
  return text === undefined ? [] : [{ type: 'refusal', text, at: message.path('refusal') }]
}

function readImages(message: Reader): MediaPart[] {
  return (message.objects('images') ?? []).flatMap(image => {
    const url = image.object('image_url')?.string('url')
    return url === undefined
      ? []
      : [{ type: 'media' as const, kind: 'image' as const, ...sourceOfUrl(url), at: image.at }]
  })
}

/** What an upstream wants back with the message goes onto its last text. */
function withSeal(message: Reader, parts: readonly Part[]): readonly Part[] {
  const seal = sealOfExtra(message.raw('extra_content'))
  if (seal === undefined) return parts
  const last = parts.findLastIndex(({ type }) => type === 'text')
  if (last < 0) return [...parts, { type: 'text', text: '', seal, at: message.path('extra_content') }]
  return parts.map((part, i) => (i === last ? { ...part, seal } : part))
}

function readCalls(message: Reader, turn: number): CallPart[] {
  const calls = (message.objects('tool_calls') ?? []).map((call, i) => readCall(call, `${MADE_UP}h${turn}_${i}`))
  const legacy = message.object('function_call')
  if (legacy === undefined) return calls
  return [
    ...calls,
    {
      type: 'call',
      id: `${MADE_UP}h${turn}_f`,
      name: legacy.required('name'),
      arguments: readArguments(legacy, 'arguments'),
      at: legacy.at,
    },
  ]
}

/** A call, under `fallback` where it has no id. */
function readCall(call: Reader, fallback: string): CallPart {
  const id = call.string('id') || fallback
  const seal = sealOfExtra(call.raw('extra_content'))
  const rest = { at: call.at, ...(seal !== undefined && { seal }) }
  const custom = call.object('custom')
  if (call.string('type') === 'custom' && custom !== undefined) {
    const input = custom.string('input') ?? ''
    return { type: 'call', id, name: custom.required('name'), arguments: input, custom: true, ...rest }
  }
  const called = call.object('function')
  if (called === undefined) throw invalid(call.path('function'), 'it is required')
  return { type: 'call', id, name: called.required('name'), arguments: readArguments(called, 'arguments'), ...rest }
}

/** JSON text of the arguments; some clients send the object itself. */
function readArguments(called: Reader, name: string): string {
  const value = called.raw(name)
  if (isObject(value)) return jsonText(value)
  return called.string(name) ?? ''
}

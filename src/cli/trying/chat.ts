import { createInterface } from 'node:readline/promises'
import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.js'
import { eventsOf } from '../events.js'
import { CommandError, coloured, EXIT, type Io, paints, plainMessage, print, printable, printableLines } from '../io.js'
import { ask, droppedBy, errorMessage } from './ask.js'
import type { Target } from './target.js'

const PATH = '/v1/chat/completions'
/** Messages of a conversation that are sent again; older ones are forgotten. */
const MAX_MESSAGES = 200

export interface ChatOptions {
  readonly model: string
  readonly system: string | undefined
  /** Parts of the first message. */
  readonly parts: readonly JsonObject[]
}

/** Asks one question, and prints the answer while it arrives. */
export async function chatOnce(target: Target, options: ChatOptions, text: string, io: Io): Promise<void> {
  await turn(target, options.model, [...systemOf(options), question(text, options.parts)], io)
}

/** Reads questions from the terminal until it ends. An error ends its turn alone. */
export async function chatOn(target: Target, options: ChatOptions, io: Io): Promise<void> {
  const { dim, bold, red } = paints(coloured(io.stderr, io.env))
  print(io.stderr, dim(`${options.model} at ${target.origin}; Ctrl-D ends`))
  const lines = createInterface({
    input: io.stdin,
    output: io.stderr,
    prompt: bold('> '),
    terminal: io.stderr.isTTY === true,
  })
  // Lines may still come from what has been read before the end.
  let hasEnded = false
  lines.once('close', () => {
    hasEnded = true
  })
  let messages: JsonObject[] = []
  let { parts } = options
  lines.prompt()
  for await (const line of lines) {
    if (line.trim() !== '') {
      const asked = question(line, parts)
      try {
        const answer = await turn(target, options.model, [...systemOf(options), ...messages, asked], io)
        messages = [...messages, asked, { role: 'assistant', content: answer }].slice(-MAX_MESSAGES)
        parts = []
      } catch (error) {
        const message = plainMessage(error)
        if (message === undefined) throw error
        print(io.stderr, `${red('error:')} ${printableLines(message)}`)
      }
    }
    if (!hasEnded) lines.prompt()
  }
  print(io.stderr, '')
}

function systemOf({ system }: ChatOptions): readonly JsonObject[] {
  return system === undefined ? [] : [{ role: 'system', content: system }]
}

function question(text: string, parts: readonly JsonObject[]): JsonObject {
  return { role: 'user', content: parts.length === 0 ? text : [{ type: 'text', text }, ...parts] }
}

async function turn(target: Target, model: string, messages: readonly JsonObject[], io: Io): Promise<string> {
  const begun = performance.now()
  const answer = await ask(target, PATH, { model, messages, stream: true, stream_options: { include_usage: true } })
  let text = ''
  let first: number | undefined
  let usage: JsonObject | undefined
  // Some servers never send [DONE].
  let isWhole = false
  for await (const { data } of eventsOf(answer.body)) {
    isWhole ||= data === '[DONE]' || /"finish_reason" ?: ?"/.test(data)
    if (data === '[DONE]') break
    const event = parseJson(data) ?? null
    const fault = errorMessage(event)
    if (fault !== undefined) throw new CommandError(fault, EXIT.failed)
    const piece = contentOf(event)
    if (piece !== '') first ??= performance.now() - begun
    text += piece
    io.stdout.write(printableLines(piece))
    if (isObject(event) && isObject(event.usage)) usage = event.usage
  }
  if (!text.endsWith('\n')) io.stdout.write('\n')
  if (!isWhole) throw new CommandError('the answer broke off', EXIT.failed)
  tell({ first, total: performance.now() - begun, usage, dropped: droppedBy(answer) }, io)
  return text
}

function contentOf(event: Json): string {
  const choices = isObject(event) && Array.isArray(event.choices) ? (event.choices as readonly Json[]) : []
  const [choice] = choices
  const delta = isObject(choice ?? null) ? (choice as JsonObject).delta : undefined
  const content = isObject(delta ?? null) ? (delta as JsonObject).content : undefined
  return typeof content === 'string' ? content : ''
}

interface Facts {
  /** Milliseconds. */
  readonly first: number | undefined
  readonly total: number
  readonly usage: JsonObject | undefined
  readonly dropped: string | undefined
}

function tell({ first, total, usage, dropped }: Facts, io: Io): void {
  const { dim, yellow } = paints(coloured(io.stderr, io.env))
  const tokens = usage && `${usage.prompt_tokens ?? '?'} + ${usage.completion_tokens ?? '?'} tokens`
  const facts = [
    ...(tokens === undefined ? [] : [tokens]),
    ...(first === undefined ? [] : [`first after ${Math.round(first)} ms`]),
    `${Math.round(total)} ms`,
  ]
  print(io.stderr, dim(facts.join(', ')))
  if (dropped !== undefined) print(io.stderr, yellow(`left out by translation: ${printable(dropped)}`))
}

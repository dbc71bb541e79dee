import type { Faults } from '../faults/table.js'
import { isObject, type JsonObject, parseJson } from '../json.js'
import { type Alphabet, seal, unseal } from './token.js'

/** Whose task it is: each protocol knows its own alone. */
export type TaskKind = 'video' | 'relayed' | 'deferred' | 'pipeline' | 'operation' | 'imagine'

/** Everything that has to be known of a task, by whichever process is asked for it. */
export interface Task {
  readonly kind: TaskKind
  /** Without the faults after its question mark. */
  readonly model: string
  /** What was asked of the simulator itself, written as a query. */
  readonly asked: string
  readonly prompt: string
  /** Milliseconds since the epoch. */
  readonly started: number
  /** Tells tasks of one millisecond apart. */
  readonly serial: number
  /** Digits that the result is drawn from: the same for requests that ask for the same. */
  readonly seed: string
  /** What the kind needs besides. */
  readonly facts: JsonObject
}

/** Bytes of a prompt that a name holds; of a longer one the rest is lost with the process. */
const MAX_PROMPT_CHARS = 200
const CUT = '\u{2026}'

/** A task's name. It holds the task, so that nothing has to be kept. */
export function nameOf(task: Task, alphabet: Alphabet = 'letters'): string {
  const { kind, model, asked, prompt, started, serial, seed, facts } = task
  return seal(JSON.stringify([kind, model, asked, cut(prompt), started, serial, seed, facts]), alphabet)
}

/** The task of a name, its prompt cut; nothing where no simulator made the name for this kind. */
export function taskOf(name: string, kind: TaskKind, alphabet: Alphabet = 'letters'): Task | undefined {
  const text = unseal(name, alphabet)
  const value = text === undefined ? undefined : parseJson(text)
  if (!Array.isArray(value) || value[0] !== kind) return undefined
  const [, model, asked, prompt, started, serial, seed, facts] = value
  if (!isObject(facts)) return undefined
  return {
    ...{ kind, model: String(model), asked: String(asked), prompt: String(prompt) },
    ...{ started: Number(started), serial: Number(serial), seed: String(seed), facts },
  }
}

/** As much of a prompt as every process knows: what is drawn shows no more. */
export function cut(prompt: string): string {
  if (Buffer.byteLength(prompt) <= MAX_PROMPT_CHARS) return prompt
  let bytes = 0
  let kept = ''
  for (const character of prompt) {
    bytes += Buffer.byteLength(character)
    if (bytes > MAX_PROMPT_CHARS - Buffer.byteLength(CUT)) break
    kept += character
  }
  return kept + CUT
}

/** How far a task is. `empty` is done without a result. */
export interface Course {
  readonly phase: 'queued' | 'running' | 'done' | 'empty' | 'failed' | 'blocked'
  /** From 0 to 100. */
  readonly progress: number
}

/** What a protocol calls the phases of a task; one that is done without a result, or blocked, is done or failed to it. */
type PhaseNames = Readonly<Record<'queued' | 'running' | 'done' | 'failed', string>>

/** The name of a task's phase, or the one that the fault `state` gives it as long as it runs. */
export function statusOf(names: PhaseNames, { phase }: Course, { state }: Faults): string {
  if (phase === 'queued' || phase === 'running') return state ?? names[phase]
  return phase === 'done' || phase === 'empty' ? names.done : names.failed
}

export function isOver({ phase }: Course): boolean {
  return phase !== 'queued' && phase !== 'running'
}

const DEFAULT_DURATION_MS = 5000
const QUEUED_PERCENT = 10
const DONE_PERCENT = 100

/**
 * How far a task is after so many milliseconds, or after so many polls where those are what it goes by. A function of
 * nothing else, so that a test needs no clock.
 */
export function courseOf(asked: Faults, { elapsed, polls }: { elapsed: number; polls: number }): Course {
  const { takes = DEFAULT_DURATION_MS, polls: wanted, stall, ends = 'done' } = asked
  const [done, whole] = wanted === undefined ? [elapsed, takes] : [polls, wanted]
  const reached = done >= whole ? DONE_PERCENT : Math.max(0, Math.floor((DONE_PERCENT * done) / whole))
  const progress = stall === undefined ? reached : Math.min(reached, stall)
  if (progress < DONE_PERCENT)
    return progress <= QUEUED_PERCENT ? { phase: 'queued', progress: 0 } : { phase: 'running', progress }
  return stall === undefined ? { phase: ends, progress } : { phase: 'running', progress }
}

/** Milliseconds from a task's start to its end; a poll stands for a second. */
export function timeOf({ takes = DEFAULT_DURATION_MS, polls }: Faults): number {
  return polls === undefined ? takes : polls * 1000
}

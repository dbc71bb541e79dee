import { ExactNumber, isObject, type Json, type JsonObject } from '../../core/json.js'
import { arrayOf, badUpstream, numberOf, objectOf, stringOf } from '../read.js'

/** Most steps into arguments, longest list in them, and longest text in all, in characters. */
const MAX_DEPTH = 64
const MAX_LIST_ITEMS = 10_000
const MAX_TEXT_CHARS = 16 * 1024 * 1024

const NO_PLACE = "A chunk of a call's arguments has no place."

type Tree = Record<string, unknown>

/**
 * Arguments of a call that come in pieces, where the upstream was asked for that: each piece names its place by a path
 * (`$.steps[0].name`) and brings a value, or more of a text. They make sense together only.
 */
export class PartialArgs {
  readonly #root: Tree = Object.create(null)
  #text = 0

  /** Takes `args` (whole members) and `partialArgs`. Throws `bad_upstream_response` for a path that leads nowhere. */
  add(call: JsonObject): void {
    const whole = objectOf(call.args)
    if (whole !== undefined) for (const [name, value] of Object.entries(whole)) this.#root[name] = value
    for (const each of arrayOf(call.partialArgs)) {
      const piece = objectOf(each)
      if (piece !== undefined) this.piece(piece)
    }
  }

  get args(): JsonObject {
    return this.#root as JsonObject
  }

  private piece(piece: JsonObject): void {
    const steps = stepsOf(stringOf(piece.jsonPath) ?? '')
    const value = valueIn(piece)
    if (value === undefined) return
    let at: Tree = this.#root
    for (const [i, step] of steps.entries()) {
      // Nothing but what is in the arguments may be reached.
      if (step === '__proto__') throw badUpstream(NO_PLACE)
      // Lists grow at their end only: a jump would make far more places than the upstream sent values.
      if (Array.isArray(at) && !(typeof step === 'number' && step <= at.length)) throw badUpstream(NO_PLACE)
      if (i === steps.length - 1) {
        this.put(at, step, value)
        return
      }
      let next = Object.hasOwn(at, step) ? at[step] : undefined
      if (!isTree(next)) {
        next = typeof steps[i + 1] === 'number' ? [] : Object.create(null)
        at[step] = next
      }
      at = next as Tree
    }
  }

  /** Text goes behind what is there. */
  private put(at: Tree, step: string | number, value: Json): void {
    const old = Object.hasOwn(at, step) ? at[step] : undefined
    if (typeof value !== 'string') {
      at[step] = value
      return
    }
    this.#text += value.length
    if (this.#text > MAX_TEXT_CHARS) throw badUpstream('The arguments of a call are too long.')
    at[step] = typeof old === 'string' ? old + value : value
  }
}

function isTree(value: unknown): boolean {
  return Array.isArray(value) || isObject(value)
}

function valueIn(piece: JsonObject): Json | undefined {
  if (piece.nullValue !== undefined) return null
  if (typeof piece.boolValue === 'boolean') return piece.boolValue
  if (piece.numberValue instanceof ExactNumber) return piece.numberValue
  return numberOf(piece.numberValue) ?? stringOf(piece.stringValue)
}

/** `$.a[0]['b c']` as its steps. */
function stepsOf(path: string): (string | number)[] {
  const steps: (string | number)[] = []
  const step = /\.([^.[\]]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y
  step.lastIndex = path.startsWith('$') ? 1 : 0
  while (step.lastIndex < path.length) {
    const found = step.exec(path)
    if (found === null || steps.length >= MAX_DEPTH) throw badUpstream(NO_PLACE)
    const [, name, index, single, double] = found
    if (index === undefined) steps.push(name ?? (single ?? double ?? '').replace(/\\(.)/g, '$1'))
    else if (Number(index) < MAX_LIST_ITEMS) steps.push(Number(index))
    else throw badUpstream(NO_PLACE)
  }
  return steps
}

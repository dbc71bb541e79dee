import { SimulatorError } from '../errors.js'
import { FAULTS, type Fault, type FaultName, type Faults } from './table.js'

const LONGEST = 4096

/** A model's name as it was sent, taken apart: `sim-text?status=429` is the model `sim-text` with a fault. */
export interface NamedModel {
  readonly model: string
  readonly faults: Faults
}

/** Throws {@link SimulatorError} where a fault is unknown or badly written. */
export function readModelName(name: string): NamedModel {
  const mark = name.indexOf('?')
  if (mark < 0) return { model: name, faults: {} }
  return { model: name.slice(0, mark), faults: read([...new URLSearchParams(checked(name.slice(mark + 1)))]) }
}

/** Reads the header `x-simulate: latency=50ms jitter=20ms`; commas separate as well as spaces do. */
export function readFaultHeader(value: string | undefined): Faults {
  const words = checked(value ?? '').split(/[\s,]+/)
  return read(words.filter(word => word !== '').map(word => split(word)))
}

function read(pairs: readonly (readonly [string, string])[]): Faults {
  const faults: Record<string, unknown> = Object.create(null)
  for (const [name, text] of pairs) {
    if (!isFaultName(name)) throw unknown(name)
    const { value }: Fault<unknown> = FAULTS[name]
    faults[name] = value.read(text)
    if (faults[name] === undefined) throw refused(`The fault '${name}' takes ${value.written}, not '${text}'.`)
  }
  return faults
}

function isFaultName(name: string): name is FaultName {
  return Object.hasOwn(FAULTS, name)
}

function split(word: string): readonly [string, string] {
  const at = word.indexOf('=')
  return at < 0 ? [word, ''] : [word.slice(0, at), word.slice(at + 1)]
}

function checked(text: string): string {
  if (text.length > LONGEST) throw refused(`Faults may be written in ${LONGEST} characters at most.`)
  return text
}

function unknown(name: string): SimulatorError {
  return refused(`The simulator knows no fault '${name}'. It knows: ${Object.keys(FAULTS).join(', ')}.`)
}

function refused(message: string): SimulatorError {
  return new SimulatorError(400, message, { param: 'model', code: 'unknown_fault' })
}

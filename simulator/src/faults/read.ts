import { SimulatorError } from '../errors.js'
import { FAULTS, type Fault, type FaultName, type Faults } from './table.js'

const MAX_FAULTS_CHARS = 4096

/** A model's name as it was sent, taken apart: `sim-text?status=429` is the model `sim-text` with a fault. */
interface NamedModel {
  readonly model: string
  readonly faults: Faults
  /** The faults as they are written. */
  readonly asked: string
}

/** What becomes of a task later: faults that strike then begin with one of these and a full stop. */
export type Stage = 'poll' | 'content'
const STAGED = /^(poll|content)\.(.*)$/

/** Throws {@link SimulatorError} where a fault is unknown or badly written. */
export function readModelName(name: string): NamedModel {
  const mark = name.indexOf('?')
  if (mark < 0) return { model: name, faults: {}, asked: '' }
  const asked = name.slice(mark + 1)
  return { model: name.slice(0, mark), faults: readFaults(asked), asked }
}

/** Reads faults as a query writes them: those of the request at hand, or those of a later stage of its task. */
export function readFaults(asked: string, stage?: Stage): Faults {
  return read([...new URLSearchParams(checked(asked))], stage)
}

/** The header's faults as a query would write them. */
export function askedOf(value: string | undefined): string {
  return wordsOf(value).join('&')
}

/** Reads the header `x-simulate: latency=50ms jitter=20ms`; commas separate as well as spaces do. */
export function readFaultHeader(value: string | undefined): Faults {
  return read(wordsOf(value).map(word => split(word)))
}

/** What is wrong with the faults of the header `x-simulate`; nothing where they can be played. */
export function faultProblem(value: string): string | undefined {
  try {
    readFaultHeader(value)
    return undefined
  } catch (error) {
    if (error instanceof SimulatorError) return error.message
    throw error
  }
}

function wordsOf(value: string | undefined): readonly string[] {
  return checked(value ?? '')
    .split(/[\s,]+/)
    .filter(word => word !== '')
}

/** Every fault is checked, whichever stage it is for. */
function read(pairs: readonly (readonly [string, string])[], wanted?: Stage): Faults {
  const faults: Record<string, unknown> = Object.create(null)
  for (const [written, text] of pairs) {
    const [, stage, name = written] = STAGED.exec(written) ?? []
    if (!isFaultName(name)) throw unknown(name)
    const { value }: Fault<unknown> = FAULTS[name]
    const read = value.read(text)
    if (read === undefined) throw refused(`The fault '${name}' takes ${value.written}, not '${text}'.`)
    if (stage === wanted) faults[name] = read
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
  if (text.length > MAX_FAULTS_CHARS) throw refused(`Faults may be written in ${MAX_FAULTS_CHARS} characters at most.`)
  return text
}

function unknown(name: string): SimulatorError {
  return refused(`The simulator knows no fault '${name}'. It knows: ${Object.keys(FAULTS).join(', ')}.`)
}

function refused(message: string): SimulatorError {
  return new SimulatorError(400, message, { param: 'model', code: 'unknown_fault' })
}

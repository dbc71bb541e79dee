import type { VerbConfig } from '../core/config.js'
import { isObject, type Json, parseJson } from '../core/json.js'
import { ruleUsed } from '../core/rule-watch.js'
import type { Transform } from '../core/transform.js'
import { passes, type Test } from '../core/when.js'
import { asBuffer } from '../wire/bytes.js'
import { findValue, type Path, parsePath } from '../wire/json-edit.js'
import { members, type Verb } from './verb.js'

/** Longest value that conditions read, bytes; a longer one is present and equals nothing. */
export const MAX_VALUE_BYTES = 4096

/** `{ if, do, else }`: one of two lists of verbs, by what the document holds. */
export function whenVerb(compile: (list: readonly VerbConfig[]) => Transform | undefined): Verb {
  const listOf = (args: Json | undefined): Transform => {
    const made = Array.isArray(args) ? compile(args as readonly VerbConfig[]) : undefined
    return made ?? (document => document)
  }
  return {
    name: 'when',
    compile: args => {
      if (!isObject(args) || !isObject(args.if)) throw new TypeError('if and do')
      const tests = members(args.if).map(([dotted, test]): readonly [Path, Test] => [parsePath(dotted), testOf(test)])
      const [yes, no] = [listOf(args.do), listOf(args.else)]
      return document => {
        if (!tests.every(([path, test]) => passes(test, valueAt(document, path)))) return no(document)
        ruleUsed(args)
        return yes(document)
      }
    },
  }
}

export function testOf(written: Json): Test {
  if (Array.isArray(written)) return { in: written as readonly string[] }
  return isObject(written) ? (written as Test) : { in: [written as string | number | boolean] }
}

function valueAt(document: Uint8Array, path: Path): unknown {
  const found = findValue(document, path)
  if (found === undefined) return undefined
  if (found.end - found.start > MAX_VALUE_BYTES) return {}
  return parseJson(asBuffer(document).toString('utf8', found.start, found.end))
}

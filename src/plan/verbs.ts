import { OPEN_BRACE } from '../core/ascii.js'
import type { VerbConfig } from '../core/config.js'
import type { Json } from '../core/json.js'
import { areRulesWatched, ruleUsed } from '../core/rule-watch.js'
import type { Transform } from '../core/transform.js'
import {
  aliasMember,
  keepMembers,
  parsePath,
  removeMember,
  renameMember,
  setValue,
  wrapValue,
} from '../wire/json-edit.js'
import { append, insert, join, list } from './list-verbs.js'
import { mask } from './mask-verb.js'
import { isShaping } from './shape.js'
import { base64, template } from './text-verbs.js'
import { cast, map, only, split } from './value-verbs.js'
import { chain, members, text, texts, type Verb } from './verb.js'
import { whenVerb } from './when-verb.js'

/** `{ path: value }`: writes the value, replacing what was there. */
const set: Verb = { name: 'set', compile: args => put(args, 'always') }

/** `{ path: value }`: puts the value there where nothing is. */
const defaults: Verb = { name: 'default', compile: args => put(args, 'absent') }

/** `{ from: to }`: moves the value to another path, replacing what was there. */
const rename: Verb = { name: 'rename', compile: args => move(args, renameMember) }

/** `{ from: to }`: moves the value at one path to another where nothing is there, or null; takes it out where something does. */
const alias: Verb = { name: 'alias', compile: args => move(args, aliasMember) }

/** `[paths]`: takes these values out. */
const remove: Verb = {
  name: 'remove',
  compile: args =>
    chain(
      texts(args)
        .map(parsePath)
        .map(
          (path): Transform =>
            document =>
              removeMember(document, path),
        ),
    ),
}

/** `[paths]`: takes everything else out. */
const keep: Verb = {
  name: 'keep',
  compile: args => {
    const paths = texts(args).map(parsePath)
    return document => keepMembers(document, paths)
  },
}

/** `name`: the document becomes the only member of a new one. `{ path: name }`: the value at the path does. */
const wrap: Verb = {
  name: 'wrap',
  compile: args => {
    if (typeof args === 'string') return document => wrapValue(document, [], args)
    return chain(
      members(args).map(([from, name]): Transform => {
        const path = parsePath(from)
        const member = text(name)
        return document => wrapValue(document, path, member)
      }),
    )
  },
}

const VERBS: ReadonlyMap<string, Verb> = new Map(
  [
    ...[set, defaults, rename, alias, remove, keep, wrap, cast, map, only, split],
    ...[template, base64, mask, append, insert, list, join, whenVerb(compileVerbs)],
  ].map(verb => [verb.name, verb]),
)

/** The verbs of a list, one after the other; `undefined` where there are none. */
export function compileVerbs(written: readonly VerbConfig[]): Transform | undefined {
  const documents = written.filter(verb => !isShaping(verb))
  const steps = documents.flatMap(step =>
    Object.entries(step).map(([name, args]) => watched(step, verbOf(name).compile(args))),
  )
  return steps.length === 0 ? undefined : chain([objectAlone, ...steps])
}

/** Says of a verb when it changes a document, if anybody asks. */
function watched(verb: VerbConfig, change: Transform): Transform {
  if (!areRulesWatched()) return change
  return document => {
    const changed = change(document)
    if (Buffer.compare(changed, document) !== 0) ruleUsed(verb)
    return changed
  }
}

/** Verbs are for objects: other documents are refused. */
const objectAlone: Transform = document => {
  if (document.find(byte => byte > 0x20) !== OPEN_BRACE) throw new SyntaxError('the document is not a JSON object')
  return document
}

function verbOf(name: string): Verb {
  const verb = VERBS.get(name)
  if (verb === undefined) throw new TypeError(`unknown verb ${name}`)
  return verb
}

function put(args: Json, when: 'always' | 'absent'): Transform {
  const steps = members(args).map(([dotted, value]): Transform => {
    const path = parsePath(dotted)
    const json = Buffer.from(JSON.stringify(value))
    return document => setValue(document, path, json, when)
  })
  return chain(steps)
}

function move(args: Json, edit: typeof renameMember): Transform {
  const steps = members(args).map(([from, to]): Transform => {
    const [source, target] = [parsePath(from), parsePath(text(to))]
    return document => edit(document, source, target)
  })
  return chain(steps)
}

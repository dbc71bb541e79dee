/**
 * The grammar of JSON (RFC 8259) as a table: what each byte means in each state. A step is either the next state or, from
 * {@link ACTIONS} on, an action for the reader. `JsonReader` uses it.
 */

/** States: what may come next. */
export const START = 0
export const VALUE = 1
export const FIRST_ELEMENT = 2
export const FIRST_MEMBER = 3
export const MEMBER = 4
export const COLON = 5
export const AFTER_ELEMENT = 6
export const AFTER_MEMBER = 7
export const DONE = 8
export const SCALAR = 9
const ESCAPE = 10
const HEX = [11, 12, 13, 14] as const
const MINUS = 15
const ZERO = 16
const POINT = 17
const EXPONENT = 18
const SIGN = 19
const TRUE = [20, 21, 22] as const
const FALSE = [23, 24, 25, 26] as const
const NULL = [27, 28, 29] as const
/** States from here on mostly repeat: a reader may skip the run of plain bytes on its own. */
export const RUNS = 30
const INTEGER = 30
const FRACTION = 31
const POWER = 32
export const STRING = 33
const STATES = 34
/** Reading has stopped at a problem. */
export const DEAD = 35

/** Steps from here on are actions. */
export const ACTIONS = 64
export const OPEN_OBJECT = 64
export const OPEN_ARRAY = 65
export const CLOSE = 66
export const BEGIN_KEY = 67
export const BEGIN_STRING = 68
export const END_STRING = 69
export const END_LITERAL = 70
export const NEXT_MEMBER = 71
export const NEXT_ELEMENT = 72
export const SYNTAX = 73
export const NOT_OBJECT = 74
/** Actions from here on do not consume their byte: it is read again in the next state. */
export const REREAD = 128
export const BEGIN_SCALAR = 128
export const END_NUMBER = 129

const SPACE = ' \t\n\r'
const DIGITS = '0123456789'
const NATURALS = '123456789'
const HEX_DIGITS = '0123456789abcdefABCDEF'
const SCALARS = '-0123456789tfn'

/** The step for `byte` in `state` is at index `(state << 8) | byte`. */
export const GRAMMAR: Uint8Array = new Uint8Array(STATES << 8).fill(SYNTAX)

function on(state: number, bytes: string, step: number): void {
  for (const byte of Buffer.from(bytes)) GRAMMAR[(state << 8) | byte] = step
}

on(START, SPACE, START)
on(START, '{', OPEN_OBJECT)
on(START, `["${SCALARS}`, NOT_OBJECT)

for (const state of [VALUE, FIRST_ELEMENT]) {
  on(state, SPACE, state)
  on(state, '{', OPEN_OBJECT)
  on(state, '[', OPEN_ARRAY)
  on(state, '"', BEGIN_STRING)
  on(state, SCALARS, BEGIN_SCALAR)
}
on(FIRST_ELEMENT, ']', CLOSE)

for (const state of [MEMBER, FIRST_MEMBER]) {
  on(state, SPACE, state)
  on(state, '"', BEGIN_KEY)
}
on(FIRST_MEMBER, '}', CLOSE)

on(COLON, SPACE, COLON)
on(COLON, ':', VALUE)

on(AFTER_ELEMENT, SPACE, AFTER_ELEMENT)
on(AFTER_ELEMENT, ',', NEXT_ELEMENT)
on(AFTER_ELEMENT, ']', CLOSE)

on(AFTER_MEMBER, SPACE, AFTER_MEMBER)
on(AFTER_MEMBER, ',', NEXT_MEMBER)
on(AFTER_MEMBER, '}', CLOSE)

on(DONE, SPACE, DONE)

GRAMMAR.fill(STRING, (STRING << 8) | 0x20, (STRING + 1) << 8)
on(STRING, '"', END_STRING)
on(STRING, '\\', ESCAPE)
on(ESCAPE, '"\\/bfnrt', STRING)
on(ESCAPE, 'u', HEX[0])
on(HEX[0], HEX_DIGITS, HEX[1])
on(HEX[1], HEX_DIGITS, HEX[2])
on(HEX[2], HEX_DIGITS, HEX[3])
on(HEX[3], HEX_DIGITS, STRING)

on(SCALAR, '-', MINUS)
for (const state of [SCALAR, MINUS]) {
  on(state, '0', ZERO)
  on(state, NATURALS, INTEGER)
}
for (const state of [ZERO, INTEGER, FRACTION, POWER]) on(state, `${SPACE},]}`, END_NUMBER)
for (const state of [ZERO, INTEGER]) on(state, '.', POINT)
for (const state of [ZERO, INTEGER, FRACTION]) on(state, 'eE', EXPONENT)
for (const state of [POINT, FRACTION]) on(state, DIGITS, FRACTION)
for (const state of [EXPONENT, SIGN, POWER]) on(state, DIGITS, POWER)
on(INTEGER, DIGITS, INTEGER)
on(EXPONENT, '+-', SIGN)

for (const [word, states] of [
  ['true', TRUE],
  ['false', FALSE],
  ['null', NULL],
] as const) {
  on(SCALAR, word.charAt(0), states[0])
  states.forEach((state, index) => {
    on(state, word.charAt(index + 1), states[index + 1] ?? END_LITERAL)
  })
}

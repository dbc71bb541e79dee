import { type CST, Lexer, Parser } from 'yaml'

/** Deepest nesting of a file; of list items and complex keys, most on one line. */
export const MAX_DEPTH = 64
/** What the lexer puts before a plain or quoted text. */
const SCALAR = '\u001f'

/** The text cannot be parsed in reasonable time, or makes no sense from here on. */
export class TokenFault extends Error {
  override readonly name = 'TokenFault'
  readonly rule: 'syntax' | 'too-deep'
  readonly at: number

  constructor(rule: TokenFault['rule'], message: string, at: number) {
    super(message)
    this.rule = rule
    this.at = at
  }
}

/**
 * The parser's tokens, with a watch on nesting before the parser sees it: a megabyte of opening brackets would keep it
 * busy for minutes. Throws {@link TokenFault}.
 */
export function* tokensOf(text: string): Generator<CST.Token> {
  const parser = new Parser()
  let depth = 0
  let begun = 0
  let isText = false
  for (const lexeme of new Lexer().lex(text)) {
    if (isText) isText = false
    else if (lexeme === SCALAR) isText = true
    else if (lexeme === '[' || lexeme === '{') depth++
    else if (lexeme === ']' || lexeme === '}') depth--
    else if (lexeme === '-' || lexeme === '?') begun++
    else if (lexeme === '\n' || lexeme === '\r\n') begun = 0
    if (depth < 0) throw new TokenFault('syntax', `this ${lexeme} closes nothing`, parser.offset)
    if (depth > MAX_DEPTH || begun > MAX_DEPTH)
      throw new TokenFault('too-deep', `nested more than ${MAX_DEPTH} levels deep`, parser.offset)
    yield* parser.next(lexeme)
  }
  yield* parser.end()
}

import type { TextRequest, Tool } from './conversation.js'
import { freshResults, lastUserText } from './conversation.js'

const MOST_CALLS = 16

/**
 * The tools to call now. Where one must be called: those that the last user text names, else the first. Where the model
 * may choose: those that the text names, unless it was called to read results.
 */
export function toolsToCall(request: TextRequest): readonly Tool[] {
  const { choice, parallel, turns } = request
  const allowed = request.tools.filter(tool => choice.names?.includes(tool.name) ?? true)
  if (choice.mode === 'none' || allowed.length === 0) return []
  if (choice.mode === 'auto' && freshResults(turns).length > 0) return []
  const named = namedIn(lastUserText(turns), allowed)
  const chosen = named.length === 0 && choice.mode === 'required' ? allowed.slice(0, 1) : named
  return chosen.slice(0, parallel ? MOST_CALLS : 1)
}

/** In the order of the text. A name may be written with spaces in place of `_` and `-`. */
function namedIn(text: string, tools: readonly Tool[]): readonly Tool[] {
  const folded = fold(text)
  return tools
    .map(tool => ({ tool, at: wordIndex(folded, fold(tool.name)) }))
    .filter(({ at }) => at >= 0)
    .toSorted((a, b) => a.at - b.at)
    .map(({ tool }) => tool)
}

function fold(text: string): string {
  return text.toLowerCase().replace(/[_-]/g, ' ')
}

function wordIndex(text: string, word: string): number {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!isLetter(text, at - 1) && !isLetter(text, at + word.length)) return at
  }
  return -1
}

function isLetter(text: string, at: number): boolean {
  return /[\p{L}\p{N}]/u.test(text.charAt(at))
}

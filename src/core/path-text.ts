/** A way down a document: names of members and indexes of lists. */
export type DocumentPath = readonly (string | number)[]

/**
 * A path as people write it: `models.swift-large[1].upstream`, `routes["POST /v1/embeddings"].schema`. Names other than
 * letters, digits, `_` and `-` are written in brackets and quotes. The empty path gives the empty text.
 */
export function pathText(path: DocumentPath): string {
  let text = ''
  for (const segment of path) {
    if (typeof segment === 'number') text += `[${segment}]`
    else if (!PLAIN.test(segment)) text += `[${JSON.stringify(segment)}]`
    else text += text === '' ? segment : `.${segment}`
  }
  return text
}

/** The way back from {@link pathText}; `undefined` where the text is not such a path. */
export function parsePathText(text: string): DocumentPath | undefined {
  const path: (string | number)[] = []
  let rest = text
  while (rest !== '') {
    const match = SEGMENT.exec(rest)
    if (match === null || (path.length === 0 && match[0].startsWith('.'))) return undefined
    const [whole, plain, index, quoted] = match
    if (plain !== undefined) path.push(plain)
    else if (index !== undefined) path.push(Number(index))
    else if (quoted !== undefined) path.push(unquote(quoted))
    rest = rest.slice(whole.length)
  }
  return path
}

const PLAIN = /^[\w-]+$/
const SEGMENT = /^(?:\.?([\w-]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\])/

function unquote(quoted: string): string {
  try {
    return String(JSON.parse(quoted))
  } catch {
    return quoted.slice(1, -1)
  }
}

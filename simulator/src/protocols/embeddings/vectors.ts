/**
 * Text embeddings by feature hashing (Weinberger et al., 2009): every word, every group of three letters within a word
 * and every token number is a feature; a hash gives it a place in the vector and a sign. Texts that share words, or
 * parts of words, are near one another; the vectors have length 1.
 */
const WORD = 1
const TRIGRAM = 0.6
const WORDS = /[\p{L}\p{N}]+/gu

/** The vector of a text. */
export function embedText(text: string, dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  for (const [word] of text.normalize('NFKC').toLowerCase().matchAll(WORDS)) {
    add(vector, `word ${word}`, WORD)
    const padded = `^${word}$`
    for (let at = 0; at + 3 <= padded.length; at += 1) add(vector, `part ${padded.slice(at, at + 3)}`, TRIGRAM)
  }
  return normalised(vector, text)
}

/** The vector of a list of token numbers. */
export function embedTokens(tokens: readonly number[], dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  for (const token of tokens) add(vector, `token ${token}`, WORD)
  return normalised(vector, tokens.join(' '))
}

function add(vector: Float32Array, feature: string, weight: number): void {
  const hash = fnv1a(feature)
  const place = hash % vector.length
  vector[place] = (vector[place] ?? 0) + (hash & 0x8000_0000 ? weight : -weight)
}

/** A text without a word, or whose features cancel out, still has a direction of its own. */
function normalised(vector: Float32Array, text: string): Float32Array {
  if (!vector.some(each => each !== 0)) vector[fnv1a(text) % vector.length] = 1
  const length = Math.hypot(...vector)
  return vector.map(each => each / length)
}

/** FNV-1a, 32 bits, mixed once more: its low bits alone are poor for short texts. */
function fnv1a(text: string): number {
  let hash = 0x811c_9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}

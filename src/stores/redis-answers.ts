/** Answers are read with distrust: an evicted key, or a server that is not one, gives undefined and not an exception. */

export function numberOf(answer: unknown): number | undefined {
  if (typeof answer === 'number') return answer
  const text = textOf(answer)
  if (text === undefined || text === '') return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}

export function textOf(answer: unknown): string | undefined {
  if (typeof answer === 'string') return answer
  return Buffer.isBuffer(answer) ? answer.toString('latin1') : undefined
}

export function listOf(answer: unknown): readonly unknown[] {
  return Array.isArray(answer) ? answer : []
}

export function textsOf(answer: unknown): readonly string[] {
  return listOf(answer).map(item => textOf(item) ?? '')
}

import { StoreError } from '../core/store.js'

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

/** What a server's error, by the first word of its message, means for those who use the store. */
const MEANINGS: Readonly<Record<string, string>> = {
  READONLY: 'is now a replica, and accepts no writes',
  LOADING: 'is still loading its data',
  MASTERDOWN: 'has lost its master',
  CLUSTERDOWN: 'belongs to a cluster that is down',
  TRYAGAIN: 'is moving keys',
  MOVED: 'belongs to a cluster; set cluster: true in the configuration',
  ASK: 'is moving keys',
  MISCONF: 'cannot save its data, and accepts no writes',
  WRONGTYPE: 'has a foreign value under a key of the gateway',
  NOAUTH: 'requires a password',
  WRONGPASS: 'refused user or password',
  NOPERM: 'does not permit this user to do that',
  NOREPLICAS: 'has too few replicas, and accepts no writes',
  BUSY: 'is busy with a script',
}

/** The first word of a server's error. Before Redis 7 errors within scripts follow the script's place: `ERR … : -READONLY You …`. */
export function errorWord(message: string): string {
  return message.replace(/^.*?(ReplyError: |: -(?=[A-Z]+ ))/, '').split(/[ :]/, 1)[0] ?? ''
}

/** The error of one call; a connection that broke is one as well. */
export function redisFault(error: unknown, where: string): StoreError {
  const message = error instanceof Error ? error.message : String(error)
  const word = errorWord(message)
  if (word === 'OOM' || message.includes('OOM command not allowed')) {
    return new StoreError('full', `the store at ${where} has no memory left`, error)
  }
  const meaning = MEANINGS[word]
  if (meaning !== undefined) return new StoreError('unavailable', `the store at ${where} ${meaning}`, error)
  return new StoreError('unavailable', `the store at ${where} failed (${message.slice(0, 200)})`, error)
}

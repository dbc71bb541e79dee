import { describe, Fields } from '../../families/fields.js'
import { type Prompt, readPrompts } from '../../families/prompts.js'
import { wrongType, wrongValue } from '../../families/refusals.js'
import { IMAGE_TOKENS, wordsIn } from '../../image/embedded.js'
import { isObject, type Json } from '../../json.js'
import { countTokens } from '../../text/tokens.js'

/** What one vector is made of, and what it costs. */
export interface Input {
  readonly prompt: Prompt
  readonly tokens: number
}

/** `input`: texts and tokens, or objects with texts and images, as servers of such models take them. */
export function readInputs(body: Fields): readonly Input[] | undefined {
  const value = body.raw('input')
  if (!Array.isArray(value) || !value.some(isObject)) return readPrompts(body, 'input')?.map(plain)
  return value.map((one: Json, i) => (typeof one === 'string' ? plain(one) : readObject(one, `input[${i}]`)))
}

function plain(prompt: Prompt): Input {
  return { prompt, tokens: typeof prompt === 'string' ? countTokens(prompt) : prompt.length }
}

/** `{text}`, `{image}`, or parts of either in `{content}`. */
function readObject(value: Json, param: string): Input {
  if (!isObject(value)) throw wrongType(param, 'a string or an object', describe(value))
  const fields = new Fields(value, param)
  const parts = (fields.list('content') ?? [fields]).map(readPart)
  return {
    prompt: parts.map(part => part.prompt).join('\n'),
    tokens: parts.reduce((sum, part) => sum + part.tokens, 0),
  }
}

function readPart(part: Fields): Input {
  const text = part.string('text')
  if (text !== undefined) return plain(text)
  const name = part.raw('image') === undefined ? 'image_url' : 'image'
  const image = isObject(part.raw(name)) ? part.need(name, part.fields).string('url') : part.need(name, part.string)
  if (image !== undefined && !/^https?:/i.test(image)) {
    return {
      prompt: wordsIn(image.startsWith('data:') ? image.slice(image.indexOf(',') + 1) : image),
      tokens: IMAGE_TOKENS,
    }
  }
  throw wrongValue(part.param(name), `Invalid '${part.param(name)}': the simulator fetches nothing; send the bytes.`)
}

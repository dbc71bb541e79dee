import { compatible } from '../../families/compatible.js'
import { Fields } from '../../families/fields.js'
import { emptyArray } from '../../families/refusals.js'
import { endpoint, json } from '../../protocol.js'
import type { Seed } from '../../seed.js'

const DEFAULT_MODEL = 'sim-moderate'

interface Input {
  readonly text: string
  readonly kinds: { readonly text: boolean; readonly image: boolean }
}

/** `POST /v1/moderations`: one result for each text, one for a whole list of parts. */
export const moderations = endpoint(
  compatible,
  'POST /v1/moderations',
  { body: 'json', models: [DEFAULT_MODEL] },
  ({ body: object, seed }) => {
    const body = new Fields(object)
    const model = body.string('model') ?? DEFAULT_MODEL
    const results = readInputs(body).map(({ text, kinds }, index) => judge(text, kinds, seed.fork('result', index)))
    return json({ id: `modr-${seed.fork('id').letters(29)}`, model, results })
  },
)

function readInputs(body: Fields): readonly Input[] {
  const raw = body.need('input', body.raw)
  if (typeof raw === 'string') return [ofText(raw)]
  const list = body.array('input') ?? []
  if (list.length === 0) throw emptyArray('input')
  if (list.every(each => typeof each === 'string')) return list.map(ofText)
  const parts = (body.list('input') ?? []).map(part)
  const text = parts.flatMap(each => each ?? []).join('\n')
  return [{ text, kinds: { text: parts.some(each => each !== undefined), image: parts.includes(undefined) } }]
}

function ofText(text: string): Input {
  return { text, kinds: { text: true, image: false } }
}

/** The text of a part; nothing for an image. */
function part(part: Fields): string | undefined {
  if (part.needOneOf('type', ['text', 'image_url']) === 'text') return part.need('text', part.string)
  const image = part.need('image_url', part.fields)
  image.need('url', image.string)
  return undefined
}

const FLAG_THRESHOLD = 0.5
const MAX_BASE_SCORE = 0.4

/** One result of a moderation. */
interface Judgement {
  readonly flagged: boolean
  readonly categories: Readonly<Record<Category, boolean>>
  readonly category_scores: Readonly<Record<Category, number>>
  readonly category_applied_input_types: Readonly<Record<Category, readonly string[]>>
}

/** Judges a text by the published words alone: each one found halves the distance from the score to 1. */
function judge(text: string, kinds: { text: boolean; image: boolean }, seed: Seed): Judgement {
  const folded = ` ${text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ')} `
  const scores = each(category => score(folded, category, seed))
  return {
    flagged: CATEGORIES.some(category => scores[category] >= FLAG_THRESHOLD),
    categories: each(category => scores[category] >= FLAG_THRESHOLD),
    category_scores: scores,
    category_applied_input_types: each(category => [
      ...(kinds.text ? ['text'] : []),
      ...(kinds.image && SEEN.has(category) ? ['image'] : []),
    ]),
  }
}

function score(folded: string, category: Category, seed: Seed): number {
  const found = MODERATION_WORDS[category].filter(word => folded.includes(` ${word} `)).length
  const quiet = seed.fork(category).fraction() * 0.001
  return found === 0 ? quiet : 1 - MAX_BASE_SCORE / 2 ** (found - 1) + quiet
}

function each<T>(value: (category: Category) => T): Readonly<Record<Category, T>> {
  return Object.fromEntries(CATEGORIES.map(category => [category, value(category)])) as Record<Category, T>
}

/** The categories of a moderation, and the mild words that stand for them here. */
export const MODERATION_WORDS = {
  harassment: ['idiot', 'loser', 'stupid', 'moron'],
  'harassment/threatening': ['regret', 'watch your back', 'come for you'],
  sexual: ['nude', 'naked', 'erotic'],
  'sexual/minors': ['underage'],
  hate: ['hate', 'despise', 'vermin'],
  'hate/threatening': ['drive them out'],
  illicit: ['steal', 'forge', 'smuggle', 'shoplift'],
  'illicit/violent': ['armed robbery'],
  'self-harm': ['hurt myself', 'harm myself'],
  'self-harm/intent': ['going to hurt myself'],
  'self-harm/instructions': ['how to hurt myself'],
  violence: ['fight', 'punch', 'kick', 'attack', 'kill'],
  'violence/graphic': ['blood', 'wound'],
} as const satisfies Readonly<Record<string, readonly string[]>>

type Category = keyof typeof MODERATION_WORDS

const CATEGORIES = Object.keys(MODERATION_WORDS) as readonly Category[]

/** Categories of images; the others apply to text alone. */
const SEEN: ReadonlySet<Category> = new Set([
  'sexual',
  'self-harm',
  'self-harm/intent',
  'self-harm/instructions',
  'violence',
  'violence/graphic',
])

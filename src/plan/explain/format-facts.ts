import type { Exchange, Route } from '../../core/plan.js'
import type { AnswerFormat, FormsAs } from '../../core/shape.js'

const FORMS: Readonly<Record<FormsAs, string>> = {
  json: 'form → JSON, files as data URLs',
  'json-base64': 'form → JSON, files as base64',
}

/** What becomes of bodies that change their format; nothing where none do. */
export function formatFacts(
  { formsAs, translation, shape, answers }: Pick<Exchange, 'formsAs' | 'translation' | 'shape' | 'answers'>,
  { body }: Pick<Route, 'body'>,
): { readonly formats?: readonly string[] } {
  if (translation !== undefined) return {}
  const formats = [
    ...(formsAs !== undefined && body === 'multipart' ? [FORMS[formsAs]] : []),
    ...(formsAs !== undefined && body === 'raw' ? ['URL-encoded fields → JSON'] : []),
    ...(shape?.body === undefined ? [] : [sentText(shape.body)]),
    ...(answers === undefined ? [] : [answerText(answers)]),
  ]
  return formats.length === 0 ? {} : { formats }
}

function sentText(body: NonNullable<NonNullable<Exchange['shape']>['body']>): string {
  if (body === 'form') return 'JSON → multipart/form-data'
  if (body === 'urlencoded') return 'JSON → URL-encoded fields'
  if ('bytes' in body) return `${body.bytes} → bytes`
  return 'base64' in body ? `bytes → JSON, base64 in ${body.base64}` : `bytes → JSON, a data URL in ${body.data_url}`
}

function answerText(answers: AnswerFormat): string {
  if (answers.bytes === undefined) return `answer: bytes → JSON, base64 in ${answers.base64}`
  const types = Object.entries(answers.types ?? {}).map(([member, known]) => {
    const pairs = Object.entries(known).map(([value, type]) => `${value} → ${type}`)
    return `; by ${member}: ${pairs.join(', ')}`
  })
  return `answer: ${answers.encoding ?? 'base64'} in ${answers.bytes} → ${answers.type}${types.join('')}`
}

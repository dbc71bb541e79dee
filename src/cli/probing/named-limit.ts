/** The words for the limit of output, as servers write them. */
const NAME = 'max[_ ]?(?:completion|output|new)?[_ ]?tokens'
/** Digits, with the separators of thousands, perhaps in quotes. */
const NUMBER = String.raw`[\s:"'\x60\\]*(\d[\d,]*)(?![\d,]*\s*-)`
/** What may be between the words and the number: no sentence ends there. */
const NEAR = '[^.;]{0,120}?'

/** How servers name the most tokens of an answer. A context has other words. */
const INCLUSIVE = [
  String.raw`${NAME}:\s*\d+\s*>${NUMBER}`,
  String.raw`\bat most${NUMBER}\s*(?:completion|output) tokens`,
  String.raw`\brange of ${NAME} (?:is|should be)\s*[[(]\s*\d+\s*,${NUMBER}`,
  String.raw`\b${NAME}\b${NEAR}(?:less than or equal to|at most|cannot exceed|must not exceed|<=)${NUMBER}`,
  String.raw`\bmaximum tokens you requested exceeds the model limit of${NUMBER}`,
  String.raw`\bmaximum (?:allowed )?(?:number of )?(?:completion|output) tokens\s*(?:is|of|=)${NUMBER}`,
].map(source => new RegExp(source, 'i'))
/** The number behind these words is the first that is too large. */
const EXCLUSIVE = new RegExp(
  String.raw`\b${NAME}\b${NEAR}range is from \d+ \(inclusive\) to${NUMBER}\s*\(exclusive\)`,
  'i',
)

/** The limit of output that the text of an error names, if it is less than what was asked. */
export function namedLimit(text: string, asked: number): number | undefined {
  const found = [...INCLUSIVE.map(pattern => numberBy(pattern, text)), (numberBy(EXCLUSIVE, text) ?? 0) - 1]
  return found.find(limit => limit !== undefined && limit > 0 && limit < asked)
}

function numberBy(pattern: RegExp, text: string): number | undefined {
  const [whole = '', digits] = pattern.exec(text) ?? []
  return digits === undefined || /context/i.test(whole) ? undefined : Number(digits.replaceAll(',', ''))
}

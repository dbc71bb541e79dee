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

export type Category = keyof typeof MODERATION_WORDS

export const CATEGORIES = Object.keys(MODERATION_WORDS) as readonly Category[]

/** What an image can be judged by; the others are told from text alone. */
export const SEEN: ReadonlySet<Category> = new Set([
  'sexual',
  'self-harm',
  'self-harm/intent',
  'self-harm/instructions',
  'violence',
  'violence/graphic',
])

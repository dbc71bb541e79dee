import type { RecordConfig, RecordingsConfig } from '../../core/recording.js'

/** `into /data/recordings, models swift-*, keys team, masks emails`. */
export function recordFact({ into, models, keys, routes, mask, words, members }: RecordConfig): string {
  const part = (name: string, values: readonly string[] | undefined): readonly string[] =>
    values === undefined || values.length === 0 ? [] : [`${name} ${values.join(', ')}`]
  const masked = [...mask, ...members, ...(words.length > 0 ? [`${words.length} words`] : [])]
  const parts = [...part('models', models), ...part('keys', keys), ...part('routes', routes), ...part('masks', masked)]
  return [`into ${into}`, ...parts].join('; ')
}

/** `/data/recordings, match type, timing recorded`. */
export function recordingsFact({ from, match, timing }: RecordingsConfig): string {
  const members = typeof match === 'string' ? match : match.join(' ')
  return [from, `match ${members}`, ...(timing === 'none' ? [] : [`timing ${timing}`])].join(', ')
}

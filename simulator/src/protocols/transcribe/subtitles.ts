import type { Spoken } from './transcript.js'

/** SubRip: numbered, with commas in the times. */
export function srt(segments: readonly Spoken[]): string {
  return segments.map((each, index) => `${index + 1}\n${times(each, ',')}\n${each.text}\n\n`).join('')
}

/** WebVTT, with its first line. */
export function vtt(segments: readonly Spoken[]): string {
  return `WEBVTT\n\n${segments.map(each => `${times(each, '.')}\n${each.text}\n\n`).join('')}`
}

function times({ start, end }: Spoken, point: ',' | '.'): string {
  return `${time(start, point)} --> ${time(end, point)}`
}

function time(seconds: number, point: ',' | '.'): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const rest = (seconds % 60).toFixed(3).replace('.', point)
  return `${two(hours)}:${two(minutes)}:${rest.padStart(6, '0')}`
}

function two(number: number): string {
  return String(number).padStart(2, '0')
}

/** Times of a conversation of 42 seconds, in the forms that records have. */
export const answered = "2026-11-21T00:00:10.000Z";
export const ended = "2026-11-21T00:00:52.000Z";
/** Fields of a result after such a conversation. */
export const talk = {
  answeredAt: Date.parse(answered),
  endedAt: Date.parse(ended),
  seconds: 42,
};

/** The text of a headline, as a link if the service sent a web address. */
export function HeadlineText({
  text,
  url,
  isRetracted = false,
}: {
  text: string | null;
  url: string | null;
  isRetracted?: boolean;
}) {
  const said = text ?? '(without a text)';
  const link = linkOf(url);
  return (
    <bdi class={isRetracted ? 'said retracted' : 'said'}>
      {link ? (
        <a href={link} target="_blank" rel="noopener noreferrer">
          {said}
        </a>
      ) : (
        said
      )}
    </bdi>
  );
}

/** Returns an address that is safe in a link, because the service's text could be anything. */
function linkOf(url: string | null): string | undefined {
  if (url === null || !URL.canParse(url)) return undefined;
  return ['http:', 'https:'].includes(new URL(url).protocol) ? url : undefined;
}

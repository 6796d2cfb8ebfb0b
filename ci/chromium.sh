#!/bin/sh
# chromium.sh prints the path of Chromium: $CHROMIUM, or the first one that is installed. Without one
# it says so and exits with 3.
for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
	if [ -n "$name" ] && command -v "$name"; then
		exit 0
	fi
done
echo "Chromium is missing (apt-get install chromium, or set CHROMIUM)" >&2
exit 3
